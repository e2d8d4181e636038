/** The schema of a dataset version as a tree, and the difference of two schemas. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countFields, schemaDifference, schemaTree, typeWords } from "../src/datasets/schema-tree.ts";

const leaf = (name: string, type: string) => ({ name, type, fields: [] });

describe("the tree of a schema", () => {
  it("has the nested fields of the library's types", () => {
    const signals = {
      file: "File@v1",
      boxes: "list[Box@v1]",
      _custom_types: {
        "File@v1": { schema_version: 2, name: "File@v1", fields: { path: "str", size: "int" } },
        "Box@v1": { fields: { corner: "Optional[int]" } },
      },
    };
    assert.deepEqual(schemaTree({ ignored: { type: "String" } }, signals), [
      { name: "file", type: "File", fields: [leaf("path", "str"), leaf("size", "int")] },
      { name: "boxes", type: "list of Box", fields: [leaf("corner", "int or null")] },
    ]);
  });

  it("without the library's types groups columns by their names, and leaves out internal columns", () => {
    const columns = {
      sys__id: { type: "UInt64" },
      file__path: { type: "String" },
      file__size: { type: "Int64" },
      __odd__: { type: "Int64" },
      tags: { type: "Array", item_type: { type: "String" } },
      when: { type: "DateTime", dc_nullable: true },
    };
    assert.deepEqual(schemaTree(columns, {}), [
      { name: "file", type: "", fields: [leaf("path", "String"), leaf("size", "Int64")] },
      leaf("__odd__", "Int64"),
      leaf("tags", "list of String"),
      leaf("when", "DateTime or null"),
    ]);
  });

  it("ends at a type that contains itself, and reads odd schemas", () => {
    const endless = schemaTree({}, { node: "Node@v1", _custom_types: { "Node@v1": { fields: { next: "Node@v1" } } } });
    assert.equal(countFields(endless), 9);
    assert.deepEqual(schemaTree({ a: null, b: 3 }, { _custom_types: null }), [leaf("a", "null"), leaf("b", "3")]);
  });

  it("says types in words", () => {
    assert.equal(typeWords("Optional[list[File@v1]]"), "list of File or null");
    assert.equal(typeWords("Union[int, NoneType]"), "int or null");
    assert.equal(typeWords("Union[int, str, NoneType]"), "Union[int, str, NoneType]");
  });
});

describe("the difference of two schemas", () => {
  it("names the fields that were added, removed or changed", () => {
    const before = [{ name: "a", type: "A", fields: [leaf("x", "int"), leaf("y", "int")] }];
    const after = [{ name: "a", type: "A", fields: [leaf("x", "str"), leaf("z", "int")] }];
    assert.deepEqual(schemaDifference(before, after), [
      { path: "a.x", before: "int", after: "str" },
      { path: "a.y", before: "int", after: undefined },
      { path: "a.z", before: undefined, after: "int" },
    ]);
    assert.deepEqual(schemaDifference(before, before), []);
  });
});
