package wait

import (
	"flag"
	"runtime"
	"strconv"
)

// parallelFlag is what go test sets with -parallel.
const parallelFlag = "test.parallel"

// Parallel lets that many parallel tests run on each processor, unless the command line says how
// many there are to be. It is for packages whose tests mostly wait for processes, and is called
// before [Main]. It parses the command line.
func Parallel(perCPU int) {
	flag.Parse()
	if err := parallel(flag.CommandLine, perCPU); err != nil {
		panic(err)
	}
}

func parallel(fs *flag.FlagSet, perCPU int) error {
	said := false
	fs.Visit(func(f *flag.Flag) { said = said || f.Name == parallelFlag })
	if said {
		return nil
	}
	return fs.Set(parallelFlag, strconv.Itoa(perCPU*runtime.GOMAXPROCS(0)))
}
