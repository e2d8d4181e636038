/** What all clouds refuse before anything is sent, seen by our own server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import { type RecordingServer, startRecordingServer } from "../support/recording-server.ts";
import { makeServiceAccount } from "../support/service-account.ts";

const part = 5 * 1024 * 1024;

let server: RecordingServer;
before(async () => {
  server = await startRecordingServer((_request, response) => response.writeHead(500).end());
});
after(() => server?.stop());

const stores: Readonly<Record<string, (url: string) => ClientConfig>> = {
  s3: (endpoint_url) => ({ endpoint_url, key: "k", secret: "s" }),
  gs: (endpoint_url) => ({ endpoint_url, token: makeServiceAccount() }),
  az: (url) => ({
    connection_string: `AccountName=acct;AccountKey=a2V5;BlobEndpoint=${url}/acct`,
    assume_container_exists: true,
  }),
};

for (const [scheme, config] of Object.entries(stores)) {
  describe(`${scheme}:// refuses at once`, () => {
    let storage: Storage;
    before(() => {
      storage = openStorage(`${scheme}://bucket`, config(server.url), { environment: {} });
    });
    after(() => storage?.close());

    const refused = async (message: RegExp, call: () => Promise<unknown>) => {
      server.requests.length = 0;
      await assert.rejects(call(), { name: "StorageError", code: "invalid", retryable: false, message });
      assert.equal(server.requests.length, 0);
    };

    /** Written at once, and in parts. */
    const contents = [() => "x", () => ReadableStream.from([Buffer.alloc(2 * part), Buffer.alloc(part)])];

    it("a content type that would end its header, or be changed in it", async () => {
      for (const contentType of ["text/plain\r\nx-other: 1", "text/pläin", " text/plain"]) {
        for (const content of contents)
          await refused(/contentType: this text cannot be sent, because a header takes/, () =>
            storage.write("a", content(), { contentType }),
          );
      }
    });

    it("a URL with an invalid lifetime: zero, fractional, or beyond the store's limit", async () => {
      const limits = /expiresIn: expected whole seconds from 1 to \d{6,}, got/;
      for (const expiresIn of [0, -5, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
        await refused(limits, () => storage.presign("a", { expiresIn }));
      const week = 7 * 24 * 3600;
      for (const expiresIn of [1, week]) assert.match(await storage.presign("a", { expiresIn }), /^http/);
      const longer = storage.presign("a", { expiresIn: week + 1 });
      if (scheme === "az") assert.match(await longer, /&se=/);
      else await refused(/from 1 to 604800, got 604801/, () => longer);
    });

    it("a key with an unpaired surrogate, by that key", async () => {
      const key = "a/\ud800b";
      const calls = [
        () => storage.read(key),
        () => storage.stat(key),
        ...contents.map((content) => () => storage.write(key, content())),
        () => storage.copy(key, "other"),
        () => storage.remove(key),
        () => storage.presign(key),
        () => Array.fromAsync(storage.list({ prefix: key })),
      ];
      for (const call of calls) await refused(/"a\/\\ud800b" is not valid Unicode/, call);
    });

    // There metadata is JSON, and may be any text.
    if (scheme === "gs") return;

    it("metadata that a header cannot carry, by its name", async () => {
      for (const text of ["wérd", "日本", "two\nlines", "tab\t", "end "]) {
        const options = { metadata: { plain: "fine", colour: text } };
        for (const content of contents)
          await refused(/metadata\.colour: .*encodeURIComponent/, () => storage.write("a", content(), options));
      }
    });

    it("metadata names that are not valid header names", async () => {
      for (const name of ["", "a b", "größe", "a:b", "a\r\nb"])
        await refused(/the name .* is not allowed/, () => storage.write("a", "x", { metadata: { [name]: "1" } }));
    });
  });
}

it("az:// refuses metadata names that its store does not accept, even if they are valid header names", async () => {
  const storage = openStorage("az://bucket", stores["az"]?.(server.url) ?? {}, { environment: {} });
  for (const name of ["a-b", "1a"])
    await assert.rejects(storage.write("a", "x", { metadata: { [name]: "1" } }), {
      code: "invalid",
      message: /letters, digits and underscores/,
    });
  await storage.close();
});

for (const uri of ["webdav://127.0.0.1:1", "sftp://127.0.0.1:1", "ftp://127.0.0.1:1", "hf://datasets/some/set"]) {
  it(`${uri.split(":")[0]}:// refuses a key with an unpaired surrogate, by that key`, async () => {
    const storage = openStorage(uri, {}, { environment: {} });
    for (const call of [() => storage.read("a\ud800b"), () => storage.write("a\ud800b", "x")])
      await assert.rejects(call(), { code: "invalid", message: /^"a\\ud800b"/ });
    await storage.close();
  });
}
