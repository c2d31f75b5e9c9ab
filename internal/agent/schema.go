package agent

import (
	"bytes"
	"encoding/json"
	"maps"
)

//go:generate go test -run ^(TestSchemaIsPublished|TestFieldsAreDocumented)$ -update-schema .

// Schema is the JSON Schema of manifests, from the same description that [Parse]
// checks them by. It ends in a newline.
func Schema() []byte {
	root := manifestShape().schema()
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "termio agent manifest"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic("agent: the description is no JSON: " + err.Error()) // it is made of plain values
	}
	return b.Bytes()
}

func (s *shape) schema() map[string]any {
	out := make(map[string]any)
	if s.doc != "" {
		out["description"] = s.doc
	}
	switch s.kind {
	case isFlag:
		out["type"] = "boolean"
	case isNumber:
		out["type"] = "integer"
		out["minimum"] = s.min
		if s.max != 0 {
			out["maximum"] = s.max
		}
	case isText:
		out["type"] = "string"
		if s.regexp {
			out["format"] = "regex"
		}
		if len(s.words) > 0 {
			out["enum"] = s.words
		}
	case isList:
		out["type"] = "array"
		out["items"] = s.elem.schema()
	case isObject:
		out["type"] = "object"
		s.objectSchema(out)
	}
	maps.Copy(out, s.extra)
	return out
}

func (s *shape) objectSchema(out map[string]any) {
	if s.elem != nil {
		out["additionalProperties"] = s.elem.schema()
		return
	}
	properties := make(map[string]any)
	var required []string
	for _, k := range s.keys {
		properties[k.name] = k.shape.schema()
		if k.required {
			required = append(required, k.name)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	// Comments may stand anywhere; an editor that knows the schema marks the rest.
	out["patternProperties"] = map[string]any{`^(\$|//)`: true}
	out["additionalProperties"] = false
}
