package idleflags

import "flag"

// Args are the flags that were given, by name, in a form that another process can parse to the same bench. Flags that were
// given with their defaults are among them: the report tells them too.
func Args(fs *flag.FlagSet) (args []string) {
	fs.Visit(func(x *flag.Flag) {
		values := []string{x.Value.String()}
		if t, ok := x.Value.(*texts); ok {
			values = *t
		}
		for _, v := range values {
			args = append(args, "-"+x.Name+"="+v)
		}
	})
	return args
}
