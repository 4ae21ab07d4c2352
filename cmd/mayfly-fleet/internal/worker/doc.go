// Package worker does the jobs of campaigns, several at a time, for as long as it is let.
//
//	w := worker.New(worker.Config{Queue: q, Build: build, Slots: 4})
//	err := w.Run(ctx) // until the context ends
//
// It looks at all campaigns, takes jobs of those that run and are of its own build, in turns, and says so of
// the others. Of short jobs each slot takes the next one while one runs, and gives it back if that takes longer than
// a second. While a job runs it says every third of the campaign's ack wait that it is under way.
//
// # When a job goes wrong
//
//	it panics or fails    its log is kept, and it is handed out again, after some time
//	its worker is killed  it is handed out again once it was not heard of for the ack wait
//	it never ends         after Config.JobBound its worker reports it, is silent about it from then on, and leaves
//	                      the goroutine behind; a worker that has left behind as many as it has slots ends
//	again and again       after Config.Deliveries it is not run but put into quarantine, with the logs
//
// A worker whose context ends hands its jobs back, which is not held against them.
//
// # Promises
//
// A job is done only after its result is stored. Everything is bounded: slots, logs, what is left behind.
package worker
