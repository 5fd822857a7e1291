// cel-oracle evaluates CEL in the environment of Kubernetes 1.36.
//
//	cel-oracle eval         a line {"expr": …, "variables": {…}} in, a line with the outcome out
//	cel-oracle suite DIR    the conformance suite of CEL (its directory of textproto files): a line
//	                        for each test, with what the suite and Kubernetes expect
//
// All variables have the type dyn, because documents have no schema in deltic.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "eval":
		err = evalLines(encoder)
	case len(os.Args) == 3 && os.Args[1] == "suite":
		err = suite(os.Args[2], encoder)
	default:
		err = fmt.Errorf("usage: cel-oracle eval | cel-oracle suite DIR")
	}
	if err != nil {
		out.Flush()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A request is a line of the input.
type request struct {
	Expr      string         `json:"expr"`
	Variables map[string]any `json:"variables"`
}

func evalLines(out *json.Encoder) error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var line request
		decoder := json.NewDecoder(bytesReader(in.Bytes()))
		decoder.UseNumber()
		if err := decoder.Decode(&line); err != nil {
			return err
		}
		if err := out.Encode(evaluate(line.Expr, numbers(line.Variables))); err != nil {
			return err
		}
	}
	return in.Err()
}
