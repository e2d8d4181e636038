/** Which jobs use the dataset library, and which version they get. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkLibrary, withLibrary } from "../../src/datachain/requirements.ts";
import { usesLibrary } from "../../src/runtimes/uses-library.ts";

describe("the dataset library", () => {
  const uses = (query: string, requirements: string | null = null, query_type: "PYTHON" | "SHELL" = "PYTHON") =>
    usesLibrary({ query, query_type, requirements });

  it("is used by a script that imports it, in any line", () => {
    for (const query of [
      "import datachain as dc",
      "x = 1\n  from datachain import read_values",
      "from datachain.lib import x",
    ])
      assert.ok(uses(query), query);
    for (const query of ["print('import datachain')", "import datachains", "# import datachain", ""])
      assert.ok(!uses(query), query);
  });

  it("is used by any job whose requirements list it", () => {
    for (const requirements of ["datachain", "six\nDatachain[remote]>=0.60", "datachain ; python_version > '3'"])
      assert.ok(uses("true", requirements, "SHELL"), requirements);
    for (const requirements of ["datachain-extras", "my-datachain", null])
      assert.ok(!uses("import x", requirements), String(requirements));
  });

  it("has the team's version if the job names none", () => {
    assert.equal(withLibrary(null, "0.62.0"), "datachain==0.62.0");
    assert.equal(withLibrary("six", "0.62.0"), "six\ndatachain==0.62.0");
    assert.equal(withLibrary("datachain\nsix", "0.62.0"), "datachain==0.62.0\nsix");
    assert.equal(withLibrary("datachain[remote]", "0.62.0"), "datachain[remote]==0.62.0");
    assert.equal(withLibrary("datachain # newest", "0.62.0"), "datachain==0.62.0 # newest");
  });

  it("is refused if the requirements exclude every supported release", () => {
    const refused = [
      "datachain==0.55.0",
      "six\nDatachain[remote] == 0.55.2 ; python_version > '3'",
      "datachain===0.56.0",
      "datachain==0.56",
      "datachain==0.55.*",
      "datachain~=0.55.0",
      "datachain>=0.40,<0.56.1",
      "datachain<=0.56.0 # what we have",
      "datachain (==0.35)",
      "datachain==0.55.0 --hash=sha256:00",
    ];
    for (const text of refused)
      assert.throws(() => checkLibrary(text), /requirements: expected datachain 0\.56\.1 or newer/, text);
  });

  it("is accepted if they allow a supported release", () => {
    const taken = [
      null,
      "six==0.1",
      "datachain",
      "datachain==0.56.1",
      "datachain==0.56.*",
      "datachain==0.62.0",
      "datachain~=0.55",
      "datachain>=0.40",
      "datachain!=0.55.0",
      "datachain<0.57",
      "datachain<=0.56.1",
      "datachain==1.*",
      "datachain-extras==0.1",
      "datachain @ https://example.org/datachain-0.55.0-py3-none-any.whl",
      "datachain # ==0.55.0",
    ];
    for (const text of taken) assert.equal(checkLibrary(text), text);
  });

  it("has the version that the job names", () => {
    for (const text of ["datachain==0.61.0", "datachain>=0.60", "datachain[remote] ~= 0.61"])
      assert.equal(withLibrary(text, "0.62.0"), text);
  });
});
