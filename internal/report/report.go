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

	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/internal/web"
)

// ErrEmpty says that a run has no samples to draw.
var ErrEmpty = errors.New("the run has no samples to draw")

// Write writes the page of a run to the named file, which it replaces if there is one. Nothing is
// written if something cannot be drawn.
func Write(name string, r *results.Run) error {
	b, err := Page(r)
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

// Page returns the page of a run.
func Page(r *results.Run) ([]byte, error) {
	if len(r.Samples) == 0 {
		return nil, ErrEmpty
	}
	style := asset("uplot.css") + asset("style.css") + ownStyle
	script := "/*\n" + asset("uplot.LICENSE") + "*/\n" + asset("uplot.js") + asset("charts.js") +
		ownScript
	p := page{
		Header: r.Header, Mark: r.Mark(), Facts: results.Describe(r.Header), Sections: plan(r),
		Caption: results.MediansCaption, Style: template.CSS(style), Script: template.JS(script),
		Policy: fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s",
			hash(style), hash(script)),
	}
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
)

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

// page is what the template is filled with.
type page struct {
	Header   results.Header
	Mark     string
	Facts    []string
	Sections []section
	Caption  string
	Style    template.CSS
	Script   template.JS
	Policy   string
}

// Program returns the name of the program that measured.
func (p page) Program() string {
	name, _, _ := strings.Cut(p.Header.Program, " ")
	return cmp.Or(name, "mvccbench")
}

// Machine says what the run ran on.
func (p page) Machine() string {
	h := p.Header
	parts := []string{cmp.Or(h.CPU, "unknown processor")}
	if h.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d CPUs", h.CPUs))
	}
	parts = append(parts, fmt.Sprintf("GOMAXPROCS %d", h.GOMAXPROCS))
	if h.Go != "" {
		parts = append(parts, h.Go)
	}
	return strings.Join(append(parts, h.GOOS+"/"+h.GOARCH), ", ")
}

// Date returns when the run started, for machines.
func (p page) Date() string { return p.Header.Started.UTC().Format(time.RFC3339) }

// When returns when the run started, "" if it is not known.
func (p page) When() string {
	if p.Header.Started.IsZero() {
		return ""
	}
	return p.Header.Started.UTC().Format("2 January 2006, 15:04 MST")
}
