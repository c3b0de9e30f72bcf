package profiling

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// slowSource shows a file that a slow operation kept was in. The names are those that the
// runtime has put into its trace, so that no others can be read.
func (s *service) slowSource(w http.ResponseWriter, r *http.Request) error {
	file := r.URL.Query().Get("file")
	known := false
	for _, c := range s.slow.Kept.NewestFirst() {
		eachFrame(reflect.ValueOf(c.Report), func(f contention.Frame) {
			known = known || f.File == file
		})
	}
	if !known || !pprofui.IsSource(file) {
		return web.NotFound("no slow operation that is kept was in a Go file %q of this machine", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	type line struct {
		Number int
		Text   string
	}
	var lines []line
	for l := range strings.Lines(string(text)) {
		lines = append(lines, line{len(lines) + 1, strings.TrimRight(l, "\r\n")})
	}
	frame := s.frame(path.Base(file), "slow", "../")
	return web.Page(w, http.StatusOK, "source.html", frame, web.Data{"File": file, "Lines": lines})
}

// eachFrame calls f with each frame that v refers to.
func eachFrame(v reflect.Value, f func(contention.Frame)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachFrame(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachFrame(v.Index(i), f)
		}
	case reflect.Struct:
		if frame, ok := reflect.TypeAssert[contention.Frame](v); ok {
			f(frame)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachFrame(v.Field(i), f)
			}
		}
	}
}

// atLine is a line of code in a sentence.
var atLine = regexp.MustCompile(`[^\s/()]+\.go:\d+`)

// linked returns the verdict of a report, in which the lines of code lead to their source.
func linked(r *slow.Report) (list []pprofui.Link) {
	refs := map[string]string{}
	eachFrame(reflect.ValueOf(r), func(f contention.Frame) {
		refs[fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)] = web.FileRef(f.File, f.Line)
	})
	rest := r.Verdict
	for _, text := range atLine.FindAllString(r.Verdict, -1) {
		before, after, _ := strings.Cut(rest, text)
		list = append(list, pprofui.Link{Text: before}, pprofui.Link{Ref: refs[text], Text: text})
		rest = after
	}
	return append(list, pprofui.Link{Text: rest})
}
