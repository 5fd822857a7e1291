package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	expr "cel.dev/expr"
	// The messages of the suite are parsed, even though no test on them runs.
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	"cel.dev/expr/conformance/test"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/encoding/prototext"
)

// A test of the suite. LeftOut names the rule by which it does not run.
type suiteTest struct {
	File      string            `json:"file"`
	Name      string            `json:"name"`
	Expr      string            `json:"expr"`
	Variables map[string]*value `json:"variables,omitempty"`
	LeftOut   string            `json:"leftOut,omitempty"`
	// Suite is the expectation of the suite, Kubernetes what its environment returns.
	Suite      *outcome `json:"suite,omitempty"`
	Kubernetes *outcome `json:"kubernetes,omitempty"`
}

func suite(dir string, out *json.Encoder) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.textproto"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no textproto files in %s: %v", dir, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file test.SimpleTestFile
		if err := prototext.Unmarshal(text, &file); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, section := range file.GetSection() {
			for _, single := range section.GetTest() {
				line := &suiteTest{
					File: strings.TrimSuffix(filepath.Base(path), ".textproto"),
					Name: section.GetName() + "/" + single.GetName(),
					Expr: single.GetExpr(),
				}
				line.run(single)
				if err := out.Encode(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (line *suiteTest) run(single *test.SimpleTest) {
	if single.GetContainer() != "" {
		line.LeftOut = "names are resolved in a container of protobuf messages"
		return
	}
	if single.GetDisableMacros() {
		line.LeftOut = "macros are disabled"
		return
	}
	if single.GetCheckOnly() {
		line.LeftOut = "the deduced type only"
		return
	}
	if hasMessage(line.Expr) {
		line.LeftOut = "it builds a protobuf message"
		return
	}
	variables := map[string]any{}
	line.Variables = map[string]*value{}
	for name, binding := range single.GetBindings() {
		if strings.Contains(name, ".") {
			line.LeftOut = "the name of a variable has a dot"
			return
		}
		val, err := cel.ProtoAsValue(types.DefaultTypeAdapter, binding.GetValue())
		if err != nil {
			line.LeftOut = "a variable is a protobuf message"
			return
		}
		variables[name] = val
		read, err := valueOf(val)
		if err != nil {
			line.LeftOut = "a variable is a protobuf message"
			return
		}
		line.Variables[name] = read
	}
	expected, rule := expectation(single)
	if rule != "" {
		line.LeftOut = rule
		return
	}
	line.Suite = expected
	found := evaluate(line.Expr, variables)
	line.Kubernetes = &found
	if found.Refused && expected.Value != nil {
		line.LeftOut = "Kubernetes does not compile it"
	}
}

func hasMessage(text string) bool {
	parsed, issues := kubernetes.Parse(text)
	if issues.Err() != nil {
		return false
	}
	root := ast.NavigateAST(parsed.NativeRep())
	return len(ast.MatchDescendants(root, ast.KindMatcher(ast.StructKind))) > 0
}

func expectation(single *test.SimpleTest) (*outcome, string) {
	var expected *expr.Value
	switch result := single.GetResultMatcher().(type) {
	case nil:
		return &outcome{Value: &value{Type: "bool", Text: "true"}}, ""
	case *test.SimpleTest_Value:
		expected = result.Value
	case *test.SimpleTest_TypedResult:
		expected = result.TypedResult.GetResult()
	case *test.SimpleTest_EvalError, *test.SimpleTest_AnyEvalErrors:
		return &outcome{Error: "an error"}, ""
	default:
		return nil, "unknown values"
	}
	if expected == nil {
		return nil, "the deduced type only"
	}
	var val ref.Val
	val, err := cel.ProtoAsValue(types.DefaultTypeAdapter, expected)
	if err != nil {
		return nil, "the result is a protobuf message"
	}
	read, err := valueOf(val)
	if err != nil {
		return nil, "the result is a protobuf message"
	}
	return &outcome{Value: read}, ""
}
