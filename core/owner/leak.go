package owner

import (
	"context"
	"log/slog"
)

// lost is what the garbage collector tells about an Owner that nobody can close any more.
type lost struct {
	token *Token
	tell  func(*Token)
}

// report speaks of the living only. It does not kill: a body, or the function that was given
// the context, may still be at work, and the context may still end. It asks the gate and not
// the context, since it runs on a goroutine of the runtime's, where to ask a context that
// ended within a synctest bubble is fatal.
func (l *lost) report() {
	if l.token.word.Load()&dead == 0 {
		l.tell(l.token)
	}
}

type leakKey struct{}

// WithLeakReport returns a context whose owners, when they are lost while alive, are reported
// to tell instead of slog.Warn; nil restores that. The owner is alive still when tell is called, on a goroutine
// of the runtime's, which tell must not block.
func WithLeakReport(ctx context.Context, tell func(*Token)) context.Context {
	return context.WithValue(ctx, leakKey{}, tell)
}

func leakReport(ctx context.Context) func(*Token) {
	if tell, ok := ctx.Value(leakKey{}).(func(*Token)); ok && tell != nil {
		return tell
	}
	return warn
}

func warn(t *Token) {
	slog.Warn("an owner was lost while alive; close every owner, or run it under Run", "owner", t.String())
}
