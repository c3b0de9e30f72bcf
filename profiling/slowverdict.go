package profiling

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

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

// linked returns the verdict of the report on operation id, in which the lines of code lead to
// their source.
func linked(id int, r *slow.Report) (list []pprofui.Link) {
	refs := map[string]string{}
	eachFrame(reflect.ValueOf(r), func(f contention.Frame) {
		at := fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
		refs[at] = fmt.Sprint(id, "/", web.SourceRef(f.Func, f.Line))
	})
	rest := r.Verdict
	for _, text := range atLine.FindAllString(r.Verdict, -1) {
		before, after, _ := strings.Cut(rest, text)
		list = append(list, pprofui.Link{Text: before}, pprofui.Link{Ref: refs[text], Text: text})
		rest = after
	}
	return append(list, pprofui.Link{Text: rest})
}
