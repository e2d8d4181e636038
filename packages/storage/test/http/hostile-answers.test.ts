/** Malicious HTTP answers are bounded. The servers are our own: no real one would send such answers. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { isStorageError, StorageError } from "@millrace/storage";
import { answerWithoutEnd, openers } from "../support/hostile-http.ts";
import { type Answer, startRecordingServer } from "../support/recording-server.ts";

const mebibyte = 1024 * 1024;
let answer: Answer;
const server = await startRecordingServer((...call) => answer(...call));
after(() => server.stop());

const open = (kind: string) => (openers[kind] as (typeof openers)[string])(server.url);

/** Lists a folder until the storage ends or fails. */
async function list(kind: string) {
  await using storage = open(kind);
  return await Array.fromAsync(storage.list({ prefix: "", delimiter: "/" }));
}

const isFailed = (message: RegExp) => (error: Error) => {
  assert.ok(isStorageError(error, "failed"), `${error.name}: ${error.message.slice(0, 200)}`);
  assert.match(error.message, message);
  return true;
};

/** Bytes that were sent to the client, including those in socket buffers. */
async function bytesSent(status: number, use: () => Promise<unknown>): Promise<number> {
  let bytes = 0;
  answer = (_, response) =>
    answerWithoutEnd(response, status, (count) => {
      bytes += count;
    });
  await use();
  return bytes;
}

describe("an endless answer", { timeout: 120_000 }, () => {
  for (const kind of ["webdav", "s3", "gs", "az", "hf"]) {
    it(`to a listing of ${kind}:// is aborted at 64 MiB, with an error that says so`, async () => {
      const bytes = await bytesSent(200, () => assert.rejects(list(kind), isFailed(/longer than the limit of 64 MiB/)));
      assert.ok(bytes < 96 * mebibyte, `${bytes} bytes`);
    });
  }

  for (const kind of Object.keys(openers)) {
    it(`that is an error of ${kind}:// is truncated, and the error is that of the status`, async () => {
      await using storage = open(kind);
      const bytes = await bytesSent(403, () => assert.rejects(storage.read("a"), { code: "permission", status: 403 }));
      assert.ok(bytes < 32 * mebibyte, `${bytes} bytes`);
    });
  }

  it("to a range is aborted at the end of the range", async () => {
    let bytes = 0;
    answer = (_, response) => {
      response.setHeader("content-range", "bytes 0-4/5");
      answerWithoutEnd(response, 206, (count) => {
        bytes += count;
      });
    };
    await using storage = open("http");
    await assert.rejects(storage.read("a", { start: 0, end: 5 }), isFailed(/longer than the limit of 5 bytes/));
    assert.ok(bytes < 32 * mebibyte, `${bytes} bytes`);
  });
});

const dav = (href: string, size: string) =>
  `<multistatus><response><href>${href}</href><getcontentlength>${size}</getcontentlength></response></multistatus>`;
const contents = (key: string, size: string) =>
  `<ListBucketResult><Contents><Key>${key}</Key><Size>${size}</Size></Contents></ListBucketResult>`;
const blob = (name: string, size: string) =>
  `<EnumerationResults><Blob><Name>${name}</Name><Content-Length>${size}</Content-Length></Blob></EnumerationResults>`;

const say = (text: string) => {
  answer = (_, response) => void response.writeHead(200).end(text);
};

describe("a listing with", () => {
  const pages: Readonly<Record<string, (name: string, size: string) => string>> = {
    webdav: (name, size) => dav(`/base/${name}`, size),
    s3: contents,
    az: blob,
    gs: (name, size) => JSON.stringify({ kind: "storage#objects", items: [{ name, size }] }),
    hf: (path, size) => JSON.stringify([{ type: "file", path, oid: "o", size: size === "7" ? 7 : Number(size) }]),
  };

  for (const [kind, page] of Object.entries(pages)) {
    it(`an invalid size in ${kind}:// is an error that names the file`, async () => {
      say(page("a", "7"));
      assert.deepEqual(
        (await list(kind)).map(({ path, size }) => [path, size]),
        [["a", 7]],
      );
      for (const size of ["-5", "x", "1e300", "1.5", "99999999999999999999"]) {
        say(page("a", size));
        await assert.rejects(list(kind), isFailed(/\ba: the store reported an invalid size/), size);
      }
    });
  }

  for (const kind of ["webdav", "s3", "az"]) {
    it(`an invalid character reference in ${kind}:// is a storage error`, async () => {
      for (const reference of ["&#x110000;", "&#99999999999;", "&#xd800;", "&#56832;"]) {
        say(pages[kind]?.(`a${reference}`, "1") ?? "");
        await assert.rejects(list(kind), isFailed(/half of a surrogate pair|invalid character reference/), reference);
      }
      say(pages[kind]?.("&#x1f600;&#55357;&#56832;", "1") ?? "");
      assert.equal((await list(kind))[0]?.path, "😀😀");
    });
  }

  for (const [kind, text] of [
    ["gs", "{"],
    ["gs", "null"],
    ["gs", '{"kind":"storage#objects","items":[null]}'],
    ["gs", '{"login":true}'],
    ["gs", "[]"],
    ["hf", "<html>"],
    ["hf", "[null]"],
    ["az", '<EnumerationResults><Blob><Name Encoded="true">%</Name></Blob></EnumerationResults>'],
    ["s3", "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%</Key></Contents></ListBucketResult>"],
    ["s3", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"],
  ] as const) {
    it(`${text} in ${kind}:// is a storage error`, async () => {
      say(text);
      await assert.rejects(list(kind), isFailed(/cannot parse the store's answer/));
    });
  }
});

describe("an answer with status 200 that something else than the store sent", () => {
  const documents: Readonly<Record<string, string>> = {
    webdav: dav("/base/a", "7"),
    s3: contents("a", "7"),
    az: blob("a", "7"),
  };
  for (const [kind, whole] of Object.entries(documents)) {
    const answers: Readonly<Record<string, string>> = {
      "the sign-in page of a proxy": "<!DOCTYPE html><html><body>Sign in</body></html>",
      "no bytes": "",
      "another document": "<Welcome><Contents></Contents></Welcome>",
      "a page that was cut off": whole.slice(0, -8),
    };
    for (const [what, text] of Object.entries(answers)) {
      it(`is not an empty folder: ${what}, ${kind}://`, async () => {
        say(text);
        await assert.rejects(list(kind), (error) => {
          assert.ok(isStorageError(error, "network"), String(error));
          assert.match(error.message, /from the store, but the answer (begins with|was cut off)/);
          return true;
        });
      });
    }
    it(`is not needed for an empty folder of ${kind}://: a document without entries, a byte order mark, a namespace`, async () => {
      const root = /<(\w+)>/.exec(whole)?.[1];
      say(`\ufeff<?xml version="1.0"?>\n<${root} xmlns="n"></${root}>\n`);
      assert.deepEqual(await list(kind), []);
      say(`<${root} />`);
      assert.deepEqual(await list(kind), []);
    });
  }

  it("is the store's error if it is one, also with status 200", async () => {
    say("<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>no</Message></Error>");
    await assert.rejects(list("s3"), (error) => isStorageError(error, "permission"));
  });

  it("has copied and written nothing", async () => {
    await using storage = open("s3");
    say("<html>Sign in</html>");
    await assert.rejects(storage.copy("a", "b"), (error) => isStorageError(error, "network"));
    await assert.rejects(storage.write("a", Buffer.alloc(20_000_000)), (error) => isStorageError(error));
  });
});

describe("a page of a listing", () => {
  it("with a key that does not begin with the prefix is an error, because the prefix is cut off", async () => {
    say(contents("other/x", "1"));
    await using storage = open("s3");
    const listed = Array.fromAsync(storage.list({ prefix: "p/" }));
    await assert.rejects(listed, isFailed(/'other\/x', which does not begin with the prefix 'p\/'/));
  });

  it("that leads to itself is an error, not a listing without end", async () => {
    say("<EnumerationResults><NextMarker>again</NextMarker></EnumerationResults>");
    await assert.rejects(list("az"), isFailed(/a page leads to itself/));
  });
});

it("an invalid size in the headers is an error", async () => {
  answer = (_, response) => void response.writeHead(206, { "content-range": "bytes 0-4/-5" }).end("12345");
  await using storage = open("http");
  await assert.rejects(storage.read("a", { start: 0, end: 5 }), isFailed(/an invalid size: "-5"/));
});

it("the message of an error is bounded, and keeps its beginning and its end", () => {
  const { message } = new StorageError("failed", `start ${"x".repeat(50_000)} end`);
  assert.ok(message.length < 2000 && message.startsWith("start x") && message.endsWith("x end"));
});
