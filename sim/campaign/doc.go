// Package campaign runs simulations of many seeds on several cores, and loses nothing of
// them when it is killed.
//
//	res, err := campaign.Run(ctx, campaign.Options{Dir: "runs", Seeds: 100_000, Workers: 2})
//	if err == nil {
//		res.Write(os.Stdout)            // what was reached, and which rules broke how
//	}
//
// The same call again goes on where the last one ended, however that one ended. So does one of more
// seeds, which leaves what it would have left in an empty directory.
//
// # The directory
//
//	campaign.json    which options and which build; others are refused, fewer seeds too
//	results.jsonl    a line for each seed, in blocks, in the order of seeds
//	failures/        a directory for each distinct failure: the tape, the small one, a scenario
//	summary.txt      and summary.json, once all seeds are done
//	lock             held while a campaign runs
//
// A block is some seeds (Options.Block) and a last line with their sums and a checksum of all
// of it. It is written at once, after the failures that it names. On the next start every block
// is held against its checksum; the first one that is torn or damaged, and all behind it, are
// cut off and run again, which gives the same lines. So what was written needs no sync to be
// trusted, and a kill costs at most the blocks that were under way.
//
// A seed costs about 170 bytes of results.jsonl: its line, and its share of the sums, which are
// some 3 KiB for each block. A distinct failure costs its tapes, and there are at most MaxDistinct
// of them. In memory a campaign holds 2·Workers+2 blocks, about 100 KiB each, a world for each
// worker, and FirstSeeds seeds of each failure, however many seeds it runs.
//
// # One failure or two
//
// A seed that breaks a rule is run again for its tape, and the tape is shrunk. Failures are one
// if they break the same rule and their small tapes have the same shape: what is done in which
// order, with tenants, servers, tokens and names numbered as they come, and without times.
// The first seed of a shape is written in full, all are counted. After Options.Shrinks seeds of
// one rule no more of them are shrunk; they count as failures of that rule without a shape.
//
// Any seed can be seen again by a campaign of the same Draw with Seeds 1, in a directory of its own.
//
// Some seeds also go through sim.Guard. One that depends on more than its options is a failure
// of the rule DETERMINISM.
//
// # Promises
//
//   - The results and the summary are the same, byte for byte, whatever the number of workers,
//     the number of kills and the machine.
//   - What an error ends, a full disk say, is whole up to the last block that was written.
//   - Two campaigns do not share a directory, where the system has file locks.
//
// # Not promised
//
// A frequent failure may hide a rare one of the same rule, once Options.Shrinks of it were
// shrunk. Two shapes may be one bug: a small tape is one of the smallest about, not the
// smallest. One run that hangs hangs its worker; sim bounds runs, not subjects.
package campaign
