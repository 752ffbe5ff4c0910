//! The schemas of structured answers. Ours refer to nothing outside of themselves, so references are replaced by what they name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Importer;
use crate::load::json_of;
use crate::validate::schema_problem;

/// How deep a schema may be nested.
const MAX_DEPTH: usize = 64;

/// The most parts of one schema. References to references can multiply.
const MAX_PARTS: usize = 2_000;

impl Importer<'_> {
    /// The schema of a step's answer; `None` if it has none that can be read.
    pub(super) fn import_output(&mut self, old: &str, step: &Value) -> Option<Value> {
        let reference = step.get("outputSchemaRef").filter(|reference| !reference.is_null())?;
        let text = |name: &str| reference.get(name).and_then(Value::as_str);
        let file = text("file").or(reference.as_str()).unwrap_or_default();
        let name = text("schema").unwrap_or(old);
        let place = format!("steps_registry.json, {old}, outputSchemaRef");
        let instead = "Write the schema into `output` of the step in steps.json.";
        let found = self.schema_file(file).map(|(path, root)| {
            let named = named_schema(&root, name).cloned();
            (path, root, named)
        });
        let (path, root, schema) = match found {
            None => {
                self.report.drop(&place, format!("There is no readable schema file {file}."), instead);
                return None;
            }
            Some((path, _, None)) => {
                self.report.drop(&place, format!("{path} has no schema {name}."), instead);
                return None;
            }
            Some((path, root, Some(schema))) => (path, root, schema),
        };
        let mut inliner = Inliner { importer: self, open: Vec::new(), lost: Vec::new(), parts: 0 };
        let output = inliner.inline(&path, &root, &schema, 0);
        let lost = inliner.lost;
        for reference in lost {
            let what = format!("{reference} in {path} cannot be resolved; any value is allowed there.");
            self.report.drop(&place, what, "Complete the schema in `output` of the step in steps.json.");
        }
        match schema_problem(&output) {
            None => Some(output),
            Some(problem) => {
                self.report.drop(&place, format!("{path} is not a valid JSON Schema: {problem}."), instead);
                None
            }
        }
    }

    /// A file of schemas and its path.
    fn schema_file(&self, file: &str) -> Option<(String, Value)> {
        let written = self.source.agent.pointer("/runner/flow/schemas/base");
        let written = written.or_else(|| self.source.registry.get("schemasBase")).and_then(Value::as_str);
        let base = self.own_path(written.unwrap_or("schemas"));
        let file = file.trim_start_matches("./");
        let path = [format!("{base}/{file}"), format!("schemas/{file}"), file.to_owned()];
        let path = path.into_iter().find(|path| self.source.files.contains_key(path))?;
        let root = json_of(&path, &self.source.files[&path]).ok()?;
        Some((path, root))
    }

    /// The schema of an answer with this field, which has one of the intents as its value.
    pub(super) fn with_intents(
        &self,
        output: Option<Value>,
        field: &str,
        targets: &BTreeMap<String, Value>,
    ) -> Value {
        let mut output = output.filter(Value::is_object).unwrap_or_else(|| json!({ "type": "object" }));
        let intents: Vec<&String> = targets.keys().collect();
        let mut schema = &mut output;
        for part in field.split('.') {
            schema = property(schema, part);
        }
        if let Some(fields) = schema.as_object_mut() {
            fields.entry("type").or_insert_with(|| "string".into());
            if !fields.contains_key("enum") && !fields.contains_key("const") {
                fields.insert("enum".to_owned(), json!(intents));
            }
        }
        output
    }
}

/// The property of an object's schema, which becomes required.
fn property<'s>(schema: &'s mut Value, name: &str) -> &'s mut Value {
    if !schema.is_object() {
        *schema = json!({});
    }
    schema["type"] = "object".into();
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema["properties"] = json!({});
    }
    let mut required: Vec<Value> =
        schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if !required.contains(&Value::from(name)) {
        required.push(name.into());
    }
    schema["required"] = Value::Array(required);
    let property = &mut schema["properties"][name];
    if !property.is_object() {
        *property = json!({});
    }
    property
}

/// A schema by its key, by its name in `$defs`, or by its pointer.
fn named_schema<'r>(root: &'r Value, name: &str) -> Option<&'r Value> {
    let pointer = name.strip_prefix('#').unwrap_or(name);
    let by_pointer = if pointer.starts_with('/') { root.pointer(pointer) } else { None };
    let defined = |place: &str| root.get(place).and_then(|found| found.get(name));
    let whole = || root.get("properties").or_else(|| root.get("type")).map(|_| root);
    root.get(name)
        .or(by_pointer)
        .or_else(|| defined("$defs"))
        .or_else(|| defined("definitions"))
        .or_else(whole)
        .filter(|schema| schema.is_object())
}

struct Inliner<'i, 'a> {
    importer: &'i Importer<'a>,
    /// The references that are being resolved.
    open: Vec<String>,
    /// References that lead nowhere, or to themselves.
    lost: Vec<String>,
    parts: usize,
}

impl Inliner<'_, '_> {
    /// The schema without references. `root` is the file that it is in.
    fn inline(&mut self, path: &str, root: &Value, schema: &Value, depth: usize) -> Value {
        self.parts += 1;
        if depth > MAX_DEPTH || self.parts > MAX_PARTS {
            self.lose("what is nested too deep");
            return json!({});
        }
        match schema {
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.inline(path, root, item, depth + 1)).collect())
            }
            Value::Object(fields) => {
                let mut inlined = Map::new();
                for (name, value) in fields.iter().filter(|(name, value)| !is_of_the_file(name, value)) {
                    inlined.insert(name.clone(), self.inline(path, root, value, depth + 1));
                }
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    let target = self.referenced(path, root, reference, depth);
                    merge(&mut inlined, &target);
                }
                if let Some(Value::Array(parts)) = inlined.get("allOf").cloned()
                    && parts.iter().all(is_plain_object)
                {
                    inlined.remove("allOf");
                    parts.iter().for_each(|part| merge(&mut inlined, part));
                }
                Value::Object(inlined)
            }
            other => other.clone(),
        }
    }

    fn referenced(&mut self, path: &str, root: &Value, reference: &str, depth: usize) -> Value {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let of_file = if file.is_empty() { None } else { self.importer.schema_file(file) };
        let (path, root) = match (&of_file, file.is_empty()) {
            (Some((path, root)), _) => (path.as_str(), root),
            (None, true) => (path, root),
            (None, false) => {
                self.lose(reference);
                return json!({});
            }
        };
        let address = format!("{path}#{pointer}");
        match root.pointer(pointer).filter(|_| !self.open.contains(&address)) {
            Some(target) => {
                self.open.push(address);
                let inlined = self.inline(path, root, target, depth + 1);
                self.open.pop();
                inlined
            }
            None => {
                self.lose(reference);
                json!({})
            }
        }
    }

    fn lose(&mut self, reference: &str) {
        if !self.lost.iter().any(|lost| lost == reference) {
            self.lost.push(reference.to_owned());
        }
    }
}

/// Whether a field names the file or what others refer to. A property can have such a name too; its value is an object then.
fn is_of_the_file(name: &str, value: &Value) -> bool {
    match name {
        "$ref" | "$schema" | "$id" => value.is_string(),
        "$defs" => true,
        _ => false,
    }
}

/// Whether a schema can be merged into another one without a change of meaning.
fn is_plain_object(schema: &Value) -> bool {
    const PLAIN: [&str; 6] =
        ["type", "properties", "required", "description", "title", "additionalProperties"];
    schema.as_object().is_some_and(|fields| fields.keys().all(|name| PLAIN.contains(&name.as_str())))
}

/// Adds what another schema requires. What both have stays as it is.
fn merge(schema: &mut Map<String, Value>, other: &Value) {
    for (name, value) in other.as_object().into_iter().flatten() {
        match (name.as_str(), schema.get_mut(name), value) {
            ("properties", Some(Value::Object(own)), Value::Object(others)) => {
                for (property, value) in others {
                    own.entry(property.clone()).or_insert_with(|| value.clone());
                }
            }
            ("required", Some(Value::Array(own)), Value::Array(others)) => {
                let missing: Vec<Value> = others.iter().filter(|name| !own.contains(name)).cloned().collect();
                own.extend(missing);
            }
            (_, Some(_), _) => {}
            (_, None, _) => drop(schema.insert(name.clone(), value.clone())),
        }
    }
}
