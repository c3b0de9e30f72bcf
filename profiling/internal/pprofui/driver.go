package pprofui

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// This file embeds the web interface of github.com/google/pprof. Its driver is
// written for a program that shows one profile and ends, so some care is
// needed to show many in a program with other things to do:
//
//   - It keeps its configuration in package variables. Calls are serialized,
//     and no call sets an option that another would then see.
//   - It disassembles with the help of subprocesses. Go profiles carry their
//     symbols, so an ObjTool that knows nothing loses only the disassembly.
//   - Its pages saveconfig and deleteconfig write a file of the user on GET.
//     They are not mounted, nor is any page that a later version adds.
//   - It wants to know the user's configuration directory, see withConfigDir.

// driverMu serializes calls of driver.PProf, which writes package variables. The handlers that a
// call returns may be used while another call runs.
var driverMu sync.Mutex

// handlersOf returns pprof's pages for p, or for p minus base if base is not nil. The caller must
// not use p and base any more.
func handlersOf(p, base *profile.Profile) (handlers map[string]http.Handler, err error) {
	driverMu.Lock()
	defer driverMu.Unlock()
	args := []string{"-http=localhost:0", "-no_browser", "-symbolize=none"}
	if base != nil {
		args = append(args, "-diff_base="+baseName) // this option does not stay set
	}
	err = withConfigDir(func() error {
		return driver.PProf(&driver.Options{
			Flagset: flags{flag.NewFlagSet("pprof", flag.ContinueOnError), append(args, "capture")},
			Fetch:   fetched{p, base},
			Sym:     noSymbolizer{},
			Obj:     noObjTool{},
			UI:      silentUI{},
			HTTPServer: func(a *driver.HTTPServerArgs) error {
				handlers = a.Handlers
				return nil // without serving anything
			},
		})
	})
	return handlers, err
}

// withConfigDir calls f with an environment in which [os.UserConfigDir] returns a directory, as it
// does not in many containers. Only there it changes the environment, to a place where no file can
// be, so the driver finds no settings. f takes a fraction of a millisecond.
func withConfigDir(f func() error) error {
	if _, err := os.UserConfigDir(); err == nil {
		return f()
	}
	name := "XDG_CONFIG_HOME"
	switch runtime.GOOS {
	case "windows":
		name = "AppData"
	case "darwin", "ios":
		name = "HOME"
	case "plan9":
		name = "home"
	}
	before, set := os.LookupEnv(name)
	if err := os.Setenv(name, os.DevNull); err != nil {
		return err
	}
	defer func() {
		if set {
			os.Setenv(name, before)
		} else {
			os.Unsetenv(name)
		}
	}()
	return f()
}

// baseName is the name under which the driver asks for the base of a
// comparison.
const baseName = "base"

// fetched is a driver.Fetcher of one profile and its base. It returns an empty URL, so the driver
// takes them for local and stores no copies.
type fetched struct{ p, base *profile.Profile }

func (f fetched) Fetch(source string, _, _ time.Duration) (*profile.Profile, string, error) {
	if source == baseName && f.base != nil {
		return f.base, "", nil
	}
	return f.p, "", nil
}

// noSymbolizer leaves profiles as they are: the runtime symbolizes its own.
type noSymbolizer struct{}

func (noSymbolizer) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// noObjTool knows no object files; the driver's own tool would start objdump and
// nm.
type noObjTool struct{}

var errNoObject = errors.New("object files are not read")

func (noObjTool) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoObject
}

func (noObjTool) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errNoObject
}

// silentUI drops the driver's messages to a terminal. Those that concern the reader of a page are
// on the page.
type silentUI struct{}

func (silentUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (silentUI) Print(...any)                        {}
func (silentUI) PrintErr(...any)                     {}
func (silentUI) IsTerminal() bool                    { return false }
func (silentUI) WantBrowser() bool                   { return false }
func (silentUI) SetAutoComplete(func(string) string) {}

// flags is a driver.FlagSet with a command line of ours.
type flags struct {
	*flag.FlagSet
	args []string
}

func (f flags) StringList(name, _, usage string) *[]*string {
	list := new([]*string)
	f.Func(name, usage, func(v string) error {
		*list = append(*list, &v)
		return nil
	})
	return list
}

func (f flags) ExtraUsage() string   { return "" }
func (f flags) AddExtraUsage(string) {}

func (f flags) Parse(func()) []string {
	if err := f.FlagSet.Parse(f.args); err != nil {
		panic(err) // an option of ours that pprof does not have
	}
	return f.Args()
}
