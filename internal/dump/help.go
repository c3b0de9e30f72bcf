package dump

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// examples are shown in the help of each command.
var examples = map[string]string{
	"": `
  mvccdump info data                     what is in the folder of a journal
  mvccdump check users.backup            is it whole?
  mvccdump dump data --table users | jq 'select(.value.Age > 30)'
  mvccdump diff before.backup data       what has changed since
  mvccdump log data --key '"ada"'        which commits have changed it`,
	"info": `
  mvccdump info data
  mvccdump info users.backup`,
	"check": `
  mvccdump check data && cp -r data elsewhere   # if its program does not run`,
	"dump": `
  mvccdump dump data | wc -l
  mvccdump dump users.backup --table users | jq .value.Name
  mvccdump dump damaged.backup --partial > rescued.jsonl`,
	"diff": `
  mvccdump diff monday.backup tuesday.backup --table users
  mvccdump diff --exit-code a b > /dev/null || echo they differ`,
	"log": `
  mvccdump log data --since 1000
  mvccdump log data --table users --key '"ada"' --format jsonl`,
	"compact": `
  mvccdump compact data -o data.backup`,
}

func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	name := ""
	if node := ctx.Selected(); node != nil {
		name = node.Name
	}
	if text := examples[name]; text != "" {
		fmt.Fprintf(ctx.Stdout, "\nExamples:%s\n", text)
	}
	_, err := io.WriteString(ctx.Stdout, exitCodes)
	return err
}
