// Package web has the files that the pages of this module consist of: a style sheet, the chart
// library, and the scripts that use it. The library is uPlot 1.6.32, whose files here are those of
// its npm package, unchanged.
//
//	https://github.com/leeoniya/uPlot
package web

import "embed"

// Files are the files, by name.
//
//go:embed *.js *.css uplot.LICENSE
var Files embed.FS
