// Package idleflags is what mayfly idle plays: its flags, and the bench that they make. The command and the fleet share it.
//
//	f := idleflags.New()
//	f.OpenTrace, f.ReadProfile = openTrace, readProfile
//	f.Define(fs)
//	err := simflags.Parse(fs, args)
//	b, err := f.Settle(ctx, fs)
//	r, err := b.Play(ctx) // a report.Report
//
// [Bench.Parts] are the sweeps that a bench is made of. With Bench.Sweep and Bench.Agree replaced they are played somewhere
// else, and [Bench.Play] makes the same report of what comes back.
//
// [Args] is the command line that means the same, in one form, so that a bench can be described to another process.
//
// # Promises
//
//   - Equal flags give equal benches, whose reports are equal byte for byte, whoever plays their cells.
//   - Files are read through OpenTrace and ReadProfile alone.
package idleflags
