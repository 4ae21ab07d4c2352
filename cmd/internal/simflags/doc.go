// Package simflags is what the commands that simulate have in common: flags that say what is
// simulated, and what is wrong with them.
//
//	fs := simflags.New("mayfly sim campaign", usage, stderr)
//	var c simflags.Campaign
//	c.Define(fs)
//	if err := simflags.Parse(fs, args); err == nil {
//		err = c.Settle(fs)
//	}
//	campaign.Run(ctx, c.Options)
//
// Define and Settle come in this order, around Parse. What only concerns where and how fast
// something runs, as a directory or the number of workers, is the command's own affair.
//
// [Campaign.Args] and [Explore.Args] are the command line that means the same, in one form, so
// that a campaign can be described to another process: equal meanings that were written in another
// order have equal forms.
//
// # Not promised
//
// Two forms that differ may mean the same, as 60m and 1h of a flag that overrides what is drawn.
// The form is for the same build: another one may have other flags.
package simflags
