package conformance

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestTailIsBounded: whatever a daemon says, little of it is kept, the first and the last of it.
func TestTailIsBounded(t *testing.T) {
	for name, flood := range map[string]string{
		"lines":       strings.Repeat("noise\n", 1<<20),
		"empty lines": strings.Repeat("\n", 1<<22),
		"one line":    strings.Repeat("\x00", 8<<20),
	} {
		var l tail
		began := l.wait("begins")
		ended := l.wait("ends")
		l.follow(io.MultiReader(strings.NewReader("it begins\n"), strings.NewReader(flood), strings.NewReader("\nit ends")))
		size := len(l.text()) + lineCost*len(l.kept())
		if size > maxLog+2*maxLogLine {
			t.Errorf("%s: %d bytes are kept", name, size)
		}
		if !strings.HasPrefix(l.text(), "it begins\n") || !strings.HasSuffix(l.last(1), "it ends") {
			t.Errorf("%s: the first or the last line is not kept", name)
		}
		<-began
		<-ended
	}
}

// TestTailKeepsAll of a daemon that says little, and quotes of it what can be shown.
func TestTailKeepsAll(t *testing.T) {
	var l tail
	var said bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&said, "line %d\n", i)
	}
	l.follow(strings.NewReader(said.String()))
	if l.text()+"\n" != said.String() {
		t.Error("lines were changed")
	}
	if got := l.last(2); got != "line 998 | line 999" {
		t.Errorf("the last words are %q", got)
	}
	l.add("\x1b[31m" + strings.Repeat("x", 2*maxSaid))
	if got := l.last(1); len(got) > maxSaid+16 || strings.Contains(got, "\x1b") {
		t.Errorf("%q cannot be shown", got)
	}
}
