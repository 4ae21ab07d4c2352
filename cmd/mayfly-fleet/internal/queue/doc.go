// Package queue is all that the fleet knows of the engine between its machines: NATS JetStream,
// of which nothing shows through.
//
//	q, err := queue.Open(ctx, queue.Config{URL: "nats://a,nats://b"})
//	spec, state, err := q.Create(ctx, queue.Spec{Kind: "sim", Build: build, Args: args, Jobs: 200})
//	err = q.Offer(ctx, spec.ID, 0, state.Round()) // the coordinator queues job 0
//	job, err := q.Take(ctx, spec.ID, time.Second) // a worker gets it
//	first, err := q.Store(ctx, spec.ID, 0, result)
//	err = job.Done(ctx)
//
// # What is kept where
//
// With the prefix mayfly:
//
//	stream mayfly_JOBS         mayfly.job.CAMPAIGN.INDEX, a work queue; one message for a job, for as long as
//	                           it is not done; a durable pull consumer named after each campaign
//	stream mayfly_RESULTS      mayfly.result.CAMPAIGN.INDEX, one message for each, the first for ever
//	bucket mayfly_campaigns    CAMPAIGN.spec, .state, .progress, .samples, .attempts.INDEX, .quarantine.INDEX
//	bucket mayfly_workers      WORKER, gone some time after its last sign of life
//	bucket mayfly_share        CAMPAIGN.KEY, what jobs of one campaign tell each other
//	objects mayfly_findings    CAMPAIGN/PATH, tapes, scenarios and logs
//
// # Promises
//
//   - A job is queued once, however many coordinators offer it: a second message for its subject is refused.
//   - A job that was taken comes back unless it is done: after [Config.AckWait] without [Job.Beat], or at
//     once after [Job.Again].
//   - A job has one result. The first that was stored stays; [Queue.Store] says whether it was the first.
//   - Every call that may fail because a server went away is made again for [Patience].
//   - No error shows a password.
//
// # Not promised
//
// A job may run more than once, at the same time too: it has to give the same result. What a cluster of
// servers keeps is what its replicas keep; with one replica it is what one disk does.
package queue
