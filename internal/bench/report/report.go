// Package report is the page of a run: for each workload charts of throughput, latency and
// allocations against the number of goroutines, by engine, and against whatever parameter was
// swept, and the figures as tables. The page needs no other file. Services show it, too.
package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/internal/bench/web"
)

// ErrEmpty says that a run has no samples to draw.
var ErrEmpty = errors.New("the run has no samples to draw")

// Write writes the page of a run to the named file, which it replaces if there is one. Nothing is
// written if something cannot be drawn.
func Write(name string, r *results.Run) error {
	if len(r.Samples) == 0 {
		return ErrEmpty
	}
	program, _, _ := strings.Cut(cmp.Or(r.Header.Program, "mvccbench"), " ")
	p := Page{Saved: results.Summary("", r)}
	p.Title = program + ": " + strings.Join(p.Workloads, ", ")
	p.Top = "<header><h1>" + template.HTML(template.HTMLEscapeString(program)) + "</h1></header>"
	b, err := p.HTML()
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o666)
}

// IsPage reports whether the named file is a page, as Write writes it, or empty.
func IsPage(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(doctype))
	n, _ := io.ReadFull(f, head)
	return n == 0 || strings.EqualFold(string(head[:n]), doctype)
}

const doctype = "<!doctype html>"

// A Page is the page of a run. If the run has a name, the page is one of a service.
type Page struct {
	results.Saved
	Title     string        // of the page
	Top, More template.HTML // the parts before the run, and after its results
}

// HTML returns the page.
func (p Page) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

var (
	//go:embed page.html
	pageText string
	//go:embed report.css
	ownStyle string
	//go:embed report.js
	ownScript string

	pageTemplate = template.Must(template.New("page").Parse(pageText))

	style  = asset("uplot.css") + asset("style.css") + ownStyle
	script = "/*\n" + asset("uplot.LICENSE") + "*/\n" + asset("uplot.js") + asset("charts.js") +
		ownScript
)

// Policy lets a page load nothing from elsewhere.
var Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s",
	hash(style), hash(script))

// asset returns one of the files that pages with charts consist of.
func asset(name string) string {
	b, err := web.Files.ReadFile(name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(b)
}

// hash returns the source of a policy that allows text as a script or style sheet, and no other.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// The rest is for the template.

// Policy is [Policy].
func (Page) Policy() string { return Policy }

// Style returns the style sheet.
func (Page) Style() template.CSS { return template.CSS(style) }

// Script returns the program that draws.
func (Page) Script() template.JS { return template.JS(script) }

// Caption describes the tables.
func (Page) Caption() string { return results.MediansCaption }

// Sections returns the charts, in sections.
func (p Page) Sections() []section { return plan(p.Run) }

// Facts say how the run was made.
func (p Page) Facts() []string { return results.Describe(p.Run.Header) }

// What describes the measurement.
func (p Page) What() string {
	return strings.Join(p.Workloads, ", ") + " on " + strings.Join(p.Engines, ", ")
}

// When returns when the run started, "" if it is not known.
func (p Page) When() string {
	if p.Started.IsZero() {
		return ""
	}
	return p.Started.UTC().Format(time.DateTime) + " UTC"
}
