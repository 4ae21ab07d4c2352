package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mayfly-mcp/mayfly/conformance"
)

// listSchema is the version of the JSON of certify list. It changes when a field changes its
// meaning or goes; new fields leave it as it is.
const listSchema = 1

// catalogueJSON is what certify list -json prints.
type catalogueJSON struct {
	Schema       int                          `json:"schema"`
	Suite        string                       `json:"suite"`
	Catalogue    string                       `json:"catalogue"` // its version
	Hash         string                       `json:"hash"`      // which captures and certificates name
	Counts       []conformance.CatalogueCount `json:"counts"`
	Requirements []conformance.Requirement    `json:"requirements"`
	Checks       []listed                     `json:"checks"`
}

// listed is one check in the JSON of certify list.
type listed struct {
	ID           string                   `json:"id"`
	Title        string                   `json:"title"`
	Clauses      []string                 `json:"clauses"`
	Level        conformance.Level        `json:"level"`
	Capabilities []conformance.Capability `json:"capabilities,omitempty"`
	Needs        []string                 `json:"needs,omitempty"`
}

// listChecks is "certify list".
func listChecks(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("mayfly certify list", flag.ContinueOnError)
	fs.SetOutput(stderr)
	asJSON := fs.Bool("json", false, "print the whole catalogue as JSON")
	if code, done := parsed(fs, args, stderr); done {
		return code
	}
	show := printCatalogue
	if *asJSON {
		show = printCatalogueJSON
	}
	if err := show(stdout); err != nil {
		fmt.Fprintf(stderr, "mayfly certify list: %v\n", err)
		return exitHarness
	}
	return exitOK
}

func printCatalogueJSON(stdout io.Writer) error {
	out := catalogueJSON{Schema: listSchema, Suite: conformance.Suite, Catalogue: conformance.CatalogueVersion, Hash: conformance.CatalogueHash(),
		Counts: conformance.CatalogueCounts(), Requirements: conformance.Requirements()}
	for _, c := range conformance.Everything() {
		out.Checks = append(out.Checks, listed{c.ID, c.Title, c.Clauses, c.Level(), c.Capabilities(), c.Needs})
	}
	enc := json.NewEncoder(stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// printCatalogue prints the requirements, the checks and the counts as tables.
func printCatalogue(stdout io.Writer) error {
	tw := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "REQUIREMENT\tLEVEL\tCHECKS\tTEXT")
	for _, r := range conformance.Requirements() {
		held := fmt.Sprintf("%d", len(r.Checks)+len(r.Beside))
		if r.Untestable != "" {
			held = "untestable"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.ID, r.Level, held, r.Text)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	tw = tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "CHECK\tLEVEL\tCLAUSES\tTITLE")
	for _, c := range conformance.Everything() {
		title := c.Title
		if len(c.Needs) > 0 {
			title += " (needs " + strings.Join(c.Needs, ", ") + "; by name only)"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", c.ID, c.Level(), strings.Join(c.Clauses, " "), title)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	for _, n := range conformance.CatalogueCounts() {
		fmt.Fprintf(stdout, "%-6s  %d requirements, %d of them untestable; %d checks\n", n.Level, n.Requirements, n.Untestable, n.Checks)
	}
	_, err := fmt.Fprintf(stdout, "catalogue %s, %s, suite %s\n", conformance.CatalogueVersion, conformance.CatalogueHash(), conformance.Suite)
	return err
}
