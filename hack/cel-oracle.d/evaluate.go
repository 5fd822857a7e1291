package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// An outcome is a value or an error. Refused is set if the expression does not compile.
type outcome struct {
	Value   *value `json:"value,omitempty"`
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	// Extended is set if only the environment with the functions that we add compiles it.
	Extended bool `json:"extended,omitempty"`
}

// A value has the name of its type and its text, its items or its entries.
type value struct {
	Type    string      `json:"type"`
	Text    string      `json:"text,omitempty"`
	Items   []*value    `json:"items,omitempty"`
	Entries [][2]*value `json:"entries,omitempty"`
}

// kubernetes is what new expressions of a cluster 1.36 are compiled with.
var kubernetes = environment.MustBaseEnvSet(version.MajorMinor(1, 36)).NewExpressionsEnv()

// extended has the functions that deltic adds: those of the encoders, of numbers, and of JSON patches.
var extended = must(kubernetes.Extend(ext.Math(), ext.Encoders(), library.JSONPatch()))

func must(env *cel.Env, err error) *cel.Env {
	if err != nil {
		panic(err)
	}
	return env
}

func evaluate(expr string, variables map[string]any) outcome {
	result := evaluateIn(kubernetes, expr, variables)
	if result.Refused {
		if second := evaluateIn(extended, expr, variables); !second.Refused {
			second.Extended = true
			return second
		}
	}
	return result
}

func evaluateIn(env *cel.Env, expr string, variables map[string]any) (result outcome) {
	// Some functions panic on values of a type that they do not expect.
	defer func() {
		if reason := recover(); reason != nil {
			result = outcome{Error: fmt.Sprint("panic: ", reason)}
		}
	}()
	var options []cel.EnvOption
	for name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := env.Extend(options...)
	if err != nil {
		return outcome{Error: err.Error(), Refused: true}
	}
	tree, issues := env.Compile(expr)
	if issues.Err() != nil {
		return outcome{Error: issues.Err().Error(), Refused: true}
	}
	// Literal regular expressions are compiled here.
	program, err := env.Program(tree)
	if err != nil {
		return outcome{Error: err.Error(), Refused: true}
	}
	if variables == nil {
		variables = map[string]any{}
	}
	val, _, err := program.Eval(variables)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	found, err := valueOf(val)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{Value: found}
}

func valueOf(val ref.Val) (*value, error) {
	if types.IsUnknownOrError(val) {
		return nil, fmt.Errorf("%v", val)
	}
	result := &value{Type: val.Type().TypeName()}
	switch val := val.(type) {
	case types.Null:
	case types.Bool:
		result.Text = strconv.FormatBool(bool(val))
	case types.Int:
		result.Text = strconv.FormatInt(int64(val), 10)
	case types.Uint:
		result.Text = strconv.FormatUint(uint64(val), 10)
	case types.Double:
		result.Text = strconv.FormatFloat(float64(val), 'g', -1, 64)
	case types.String:
		result.Text = string(val)
	case types.Bytes:
		result.Text = base64.StdEncoding.EncodeToString(val)
	case types.Duration, types.Timestamp:
		result.Text = string(val.ConvertToType(types.StringType).(types.String))
	case *types.Optional:
		if val.HasValue() {
			inner, err := valueOf(val.GetValue())
			if err != nil {
				return nil, err
			}
			result.Items = []*value{inner}
		}
	case *types.Type:
		result.Text = val.TypeName()
	case traits.Lister:
		for it := val.Iterator(); it.HasNext() == types.True; {
			item, err := valueOf(it.Next())
			if err != nil {
				return nil, err
			}
			result.Items = append(result.Items, item)
		}
	case traits.Mapper:
		for it := val.Iterator(); it.HasNext() == types.True; {
			name := it.Next()
			key, err := valueOf(name)
			if err != nil {
				return nil, err
			}
			item, err := valueOf(val.Get(name))
			if err != nil {
				return nil, err
			}
			result.Entries = append(result.Entries, [2]*value{key, item})
		}
		sort.Slice(result.Entries, func(i, j int) bool {
			return result.Entries[i][0].Text < result.Entries[j][0].Text
		})
	}
	return result, nil
}

func bytesReader(line []byte) io.Reader { return bytes.NewReader(line) }

// numbers reads JSON numbers as deltic does: a whole one is an int.
func numbers(variables map[string]any) map[string]any {
	read := make(map[string]any, len(variables))
	for name, item := range variables {
		read[name] = number(item)
	}
	return read
}

func number(item any) any {
	switch item := item.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(item.String(), 10, 64); err == nil {
			return whole
		}
		double, _ := item.Float64()
		return double
	case []any:
		list := make([]any, len(item))
		for at, part := range item {
			list[at] = number(part)
		}
		return list
	case map[string]any:
		return numbers(item)
	default:
		return item
	}
}
