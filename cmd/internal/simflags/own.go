package simflags

import "flag"

// own are the names of the flags that one group defined, among those of a command.
type own struct{ before, names map[string]bool }

// begin is called before the group defines its flags, end thereafter.
func (o *own) begin(fs *flag.FlagSet) {
	o.before, o.names = map[string]bool{}, map[string]bool{}
	fs.VisitAll(func(x *flag.Flag) { o.before[x.Name] = true })
}

func (o *own) end(fs *flag.FlagSet) {
	fs.VisitAll(func(x *flag.Flag) {
		if !o.before[x.Name] {
			o.names[x.Name] = true
		}
	})
}

// given are those that were given, by name.
func (o *own) given(fs *flag.FlagSet) (all []*flag.Flag) {
	fs.Visit(func(x *flag.Flag) {
		if o.names[x.Name] {
			all = append(all, x)
		}
	})
	return all
}

func (o *own) isGiven(fs *flag.FlagSet, name string) bool {
	for _, x := range o.given(fs) {
		if x.Name == name {
			return true
		}
	}
	return false
}
