package main

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/conformance/certificate"
)

// reportFiles is what a report directory holds.
const reportFiles = conformance.ReportFile + ", " + conformance.HTMLFile + ", " + conformance.JUnitFile + ", " +
	conformance.BadgeFile + " and " + conformance.CaptureFile

// verdictFlags say what is made of verdicts, those of a run and those of a capture.
type verdictFlags struct {
	known, key *string
	strict     *bool

	list   []conformance.Known
	signer ed25519.PrivateKey
}

func addVerdictFlags(fs *flag.FlagSet) *verdictFlags {
	return &verdictFlags{
		known:  fs.String("known", "", "TOML file of known failures, which the exit code does not count"),
		strict: fs.Bool("strict", false, "let SHOULD decide the exit code as MUST does"),
		key:    fs.String("key", "", "ed25519 key (PKCS#8, PEM) with which to sign a "+certificate.File),
	}
}

// read reads what the flags name, which is better known to be wrong before a run than after it.
func (f *verdictFlags) read(partial bool) (err error) {
	if err := errors.Join(noDirectory(*f.known), noDirectory(*f.key)); err != nil {
		return err
	}
	if *f.known != "" {
		if f.list, err = conformance.ReadKnown(*f.known); err != nil {
			return err
		}
	}
	if *f.key == "" {
		return nil
	}
	if partial {
		return errors.New("-key signs a certificate, for which the whole catalogue is to be run; leave -check out")
	}
	f.signer, err = certificate.ReadKey(*f.key)
	return err
}

// finish marks what is known, saves and shows a report and returns the exit code.
func (f *verdictFlags) finish(r *conformance.Report, dir string, stdout, stderr io.Writer, show func() error) int {
	problems := r.Expect(f.list, time.Now())
	err := errors.Join(r.SaveAll(dir), f.sign(r, dir))
	if err == nil {
		err = show()
	}
	if err != nil {
		fmt.Fprintf(stderr, "mayfly certify: %v\n", err)
		return exitHarness
	}
	return f.exit(r, problems, stderr)
}

// exit says what is wrong with the known failures, and returns the exit code.
func (f *verdictFlags) exit(r *conformance.Report, problems []string, stderr io.Writer) int {
	for _, p := range problems {
		fmt.Fprintf(stderr, "mayfly certify: %s\n", p)
	}
	if n := r.KnownCount(); n > 0 {
		fmt.Fprintf(stderr, "mayfly certify: failures that are known and as listed: %d; without them the outcome is %s\n", n, r.Excused())
	}
	outcome := r.Excused()
	if *f.strict {
		if outcome = r.Excused(conformance.Should); outcome != r.Excused() {
			fmt.Fprintf(stderr, "mayfly certify: with -strict, which counts SHOULD as well, the outcome is %s\n", outcome)
		}
	}
	code := exitOf(outcome)
	if len(problems) > 0 && code != exitHarness {
		return exitFailed
	}
	return code
}

// sign writes the certificate, if there is a key.
func (f *verdictFlags) sign(r *conformance.Report, dir string) error {
	if f.signer == nil {
		return nil
	}
	c, err := certificate.Make(r.Capture(), f.signer)
	if err != nil {
		return err
	}
	return c.Save(dir)
}

// countdown is progress with the number of checks that are left before each line.
func countdown(stderr io.Writer, checks []conformance.Check) func(conformance.Result) {
	show, left := progress(stderr), len(checks)
	if show == nil {
		return nil
	}
	if checks == nil {
		left = len(conformance.Catalogue())
	}
	return func(r conformance.Result) {
		left--
		fmt.Fprintf(stderr, "%3d left  ", left)
		show(r)
	}
}

// rerun is the command line without what chooses checks and reports, for a shell.
func rerun(fs *flag.FlagSet) string {
	words := []string{"mayfly certify"}
	fs.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "check", "profile", "report", "json", "parallel", "known", "key", "strict":
		default:
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
				words = append(words, "-"+f.Name+"="+f.Value.String()) // a word behind it would be an argument
				return
			}
			words = append(words, "-"+f.Name, quoted(veiled(f.Value.String())))
		}
	})
	return strings.Join(words, " ")
}

// assignment is a variable that a target is given. What its value is may be a secret, unless
// it is a placeholder.
var assignment = regexp.MustCompile(`(^|[: ])([A-Za-z_][A-Za-z0-9_]*)=('[^']*'|"[^"]*"|[^ ]*)`)

// veiled hides the values of variables.
func veiled(s string) string {
	return assignment.ReplaceAllStringFunc(s, func(found string) string {
		key, value, _ := strings.Cut(found, "=")
		if strings.Contains(value, "{") {
			return found
		}
		return key + "=***"
	})
}

// quoted makes one word of a text for a shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

const rejudgeUsage = `usage: mayfly certify rejudge [flags] DIR

Judges the capture in a report directory again and prints the verdicts. No daemon is run. What
has changed since the report beside it was written is said at the end. Exit codes are those of
certify; 3 when the capture cannot be judged.

`

// rejudge is "certify rejudge".
func rejudge(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("mayfly certify rejudge", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print the report as JSON in place of the table")
	also := addVerdictFlags(fs)
	dir, code, done := operand(fs, rejudgeUsage, "report directory", args, stderr)
	if done {
		return code
	}
	if err := also.read(false); err != nil {
		fmt.Fprintf(stderr, "mayfly certify rejudge: %v\n", err)
		return inputCode(err)
	}
	capture, err := conformance.ReadCapture(dir)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly certify rejudge: %v\n", err)
		return exitHarness
	}
	if was, is := capture.Catalogue(), conformance.CatalogueHash(); was != is {
		fmt.Fprintf(stderr, "mayfly certify rejudge: the capture is of catalogue %s and this mayfly has %s: what was run is judged by the rules of today, and requirements that came since were never tried\n", was, is)
	}
	report := capture.Report()
	problems := report.Expect(also.list, time.Now())
	if err := errors.Join(also.sign(report, dir), showAgain(report, *asJSON, dir, stdout, stderr)); err != nil {
		fmt.Fprintf(stderr, "mayfly certify rejudge: %v\n", err)
		return exitHarness
	}
	return also.exit(report, problems, stderr)
}

// showAgain prints a report, and on stderr what it changes about the one that was written.
func showAgain(r *conformance.Report, asJSON bool, dir string, stdout, stderr io.Writer) error {
	if asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(r); err != nil {
			return err
		}
	} else if err := r.Table(stdout); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, conformance.ReportFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil // a capture alone is enough
	}
	var before conformance.Report
	if err := errors.Join(err, json.Unmarshal(text, &before)); err != nil {
		return fmt.Errorf("%s: %w", conformance.ReportFile, err)
	}
	for _, line := range r.Changes(&before) {
		fmt.Fprintf(stderr, "mayfly certify rejudge: %s\n", line)
	}
	return nil
}

// operand parses flags and the one argument behind them.
func operand(fs *flag.FlagSet, usage, what string, args []string, stderr io.Writer) (arg string, code int, done bool) {
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
	}
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return "", exitOK, true
	case err != nil:
		return "", exitUsage, true
	case fs.NArg() != 1:
		fmt.Fprintf(stderr, "%s: %d arguments; it takes one, the %s; run \"%s -h\" for the flags\n", fs.Name(), fs.NArg(), what, fs.Name())
		return "", exitUsage, true
	}
	return fs.Arg(0), 0, false
}

const verifyUsage = `usage: mayfly certify verify [flags] FILE

Verifies a certificate: holds its signature against the key, judges the capture beside it
again, and compares everything that the certificate says with it and with the catalogue. Exit
code 0: it is genuine and its outcome is PASS; 1: it is not genuine, or it is and its outcome
is FAIL; 3: it cannot be verified, a file is missing or of another version; 4: it is genuine
and its outcome is inconclusive.

`

// verify is "certify verify".
func verify(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("mayfly certify verify", flag.ContinueOnError)
	pub := fs.String("pub", "", "public key (PEM) that must have signed; without it, any may have")
	binary := fs.String("binary", "", "program that must be the one that was certified")
	file, code, done := operand(fs, verifyUsage, "certificate", args, stderr)
	if done {
		return code
	}
	o := certificate.Options{Binary: *binary}
	if *pub != "" {
		var err error
		if o.Public, err = certificate.ReadPublic(*pub); err != nil {
			fmt.Fprintf(stderr, "mayfly certify verify: %v\n", err)
			return inputCode(err)
		}
	}
	c, err := certificate.Verify(file, o)
	if err != nil {
		fmt.Fprintf(stderr, "mayfly certify verify: %v\n", err)
		if errors.Is(err, certificate.ErrNotGenuine) {
			return exitFailed
		}
		return exitHarness
	}
	fmt.Fprintf(stdout, "genuine: %s of %q (%s %s), suite %s, %d checks judged again, begun %s\n", c.Outcome, c.Target.Name, c.Target.Program,
		c.Target.Digest, c.Suite, len(c.Verdicts), c.Started.Format(time.RFC3339))
	fmt.Fprintf(stdout, "signed with %s%s\n", c.Signer(), vouched(o))
	return exitOf(c.Outcome)
}

// vouched warns of a signature that anybody may have made.
func vouched(o certificate.Options) string {
	if o.Public != nil {
		return ", the key that was asked for"
	}
	return "; whose key that is, nobody says: give -pub"
}
