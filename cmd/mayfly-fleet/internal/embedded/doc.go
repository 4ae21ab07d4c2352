// Package embedded runs a server of NATS JetStream in this process, for campaigns that need no cluster.
//
//	s, err := embedded.Start(embedded.Config{Store: dir})
//	defer s.Close()
//	q, err := queue.Open(ctx, s.Queue())
//
// It listens on a port of loopback that nobody else has, and asks for a password made up for the occasion, so that
// nobody else on the machine joins unasked. [Server.Creds] is a file that only its owner reads, with which
// workers of the same owner join:
//
//	mayfly-fleet worker -nats ADDRESS -creds FILE
//
// # Promises
//
// The store is readable by its owner alone, and one server at a time uses it. A store that was made for the
// occasion is removed by Close.
//
// # Not promised
//
// A process that is killed leaves a temporary store behind. With Config.Store the next one goes on from it.
package embedded
