/** What `s3://` sends, and how it handles failures, seen by our own server. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import { type Answer, type RecordingServer, startRecordingServer } from "../support/recording-server.ts";
import { documentOf } from "../support/s3-documents.ts";

const cleanups: (() => Promise<void>)[] = [];
after(async () => {
  for (const cleanup of cleanups) await cleanup();
});

const keys = { key: "k", secret: "s" };

async function against(
  answer: Answer,
  config: ClientConfig = keys,
): Promise<{ server: RecordingServer; storage: Storage }> {
  const server = await startRecordingServer(answer);
  const storage = openStorage("s3://bucket", { endpoint_url: server.url, ...config }, { environment: {} });
  cleanups.push(
    () => storage.close(),
    () => server.stop(),
  );
  return { server, storage };
}

const ok: Answer = (request, response) => {
  const text = documentOf(request) ?? "ok";
  response.writeHead(200, { etag: '"e"', "content-length": text.length }).end(text);
};

const failure = (status: number, code: string, headers: Readonly<Record<string, string>> = {}): Answer => {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>said so</Message></Error>`;
  return (_request, response) => response.writeHead(status, headers).end(body);
};

/** Answers the first requests in one way and the others in another. */
const firstly =
  (times: number, first: Answer, then: Answer = ok): Answer =>
  (request, response, count) =>
    (count <= times ? first : then)(request, response, count);

describe("a request of s3://", () => {
  it("is signed, with the session token", async () => {
    const { server, storage } = await against(ok, { ...keys, token: "t" });
    await storage.read("a");
    const { headers, path } = server.requests[0] ?? assert.fail();
    assert.match(headers.authorization ?? "", /^AWS4-HMAC-SHA256 Credential=k\/\d{8}\/us-east-1\/s3\/aws4_request/);
    assert.equal(headers["x-amz-security-token"], "t");
    assert.equal(path, "/bucket/a");
  });

  it("is not signed when anonymous", async () => {
    const { server, storage } = await against(ok, { anon: true });
    await storage.read("a");
    assert.equal(server.requests[0]?.headers.authorization, undefined);
  });

  it("is signed for the region that is given", async () => {
    const { server, storage } = await against(ok, { ...keys, client_kwargs: { region_name: "eu-west-3" } });
    await storage.read("a");
    assert.match(server.requests[0]?.headers.authorization ?? "", /\/eu-west-3\/s3\//);
  });

  it("declares who pays, whatever the call", async () => {
    const { server, storage } = await against(ok, { ...keys, requester_pays: true });
    await storage.read("a");
    await storage.stat("a");
    await storage.write("a", "x");
    await storage.copy("a", "b");
    await storage.remove("a");
    await Array.fromAsync(storage.list());
    assert.deepEqual([...new Set(server.requests.map(({ headers }) => headers["x-amz-request-payer"]))], ["requester"]);
  });

  it("has additional arguments only in the calls that accept them", async () => {
    const s3_additional_kwargs = { ServerSideEncryption: "AES256", StorageClass: "GLACIER" };
    const { server, storage } = await against(ok, { ...keys, s3_additional_kwargs });
    await storage.write("a", "x");
    await storage.read("a");
    const sent = server.requests.map(({ headers }) => [
      headers["x-amz-storage-class"],
      headers["x-amz-server-side-encryption"],
    ]);
    assert.deepEqual(sent, [
      ["GLACIER", "AES256"],
      [undefined, undefined],
    ]);
  });

  it("never treats the bucket as an object", async () => {
    const { server, storage } = await against(ok);
    for (const call of [() => storage.read(""), () => storage.write("", "x"), () => storage.remove("")]) {
      await assert.rejects(call(), { code: "invalid", message: /is a bucket, not an object/ });
    }
    assert.equal(server.requests.length, 0);
    assert.equal((await storage.stat("")).type, "directory");
  });

  it("requests bytes by range only if a range is given", async () => {
    const { server, storage } = await against(ok);
    await storage.read("a");
    await storage.read("a", { start: 0, end: 2 });
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.range),
      [undefined, "bytes=0-1"],
    );
  });
});

describe("a bucket of s3://", () => {
  it("is created in the given region, which is sent unless it is the standard one, with its permissions", async () => {
    const s3_additional_kwargs = { ACL: "private", StorageClass: "GLACIER" };
    for (const region_name of ["us-east-1", "eu-west-3"]) {
      const { server, storage } = await against(ok, { ...keys, region_name, s3_additional_kwargs });
      await storage.createBucket();
      const { method, path, headers, body } = server.requests[0] ?? assert.fail();
      assert.deepEqual([method, path], ["PUT", "/bucket"]);
      assert.deepEqual([headers["x-amz-acl"], headers["x-amz-storage-class"]], ["private", undefined]);
      const named = /<LocationConstraint>(.*)<\/LocationConstraint>/.exec(String(body))?.[1];
      assert.equal(named, region_name === "us-east-1" ? undefined : region_name);
    }
  });

  it("that is being changed concurrently is retried", async () => {
    const { server, storage } = await against(firstly(1, failure(409, "OperationAborted")));
    await storage.createBucket();
    assert.equal(server.requests.length, 2);
  });
});

describe("when the store fails", () => {
  it("an overload is retried", async () => {
    const { server, storage } = await against(firstly(2, failure(503, "SlowDown")));
    assert.equal(await storage.readText("a"), "ok");
    assert.equal(server.requests.length, 3);
  });

  it("the last error is reported when retries are used up, with the store's message", async () => {
    const config = { ...keys, config_kwargs: { retries: { total_max_attempts: 2 } } };
    const { server, storage } = await against(failure(503, "SlowDown", { "x-amz-request-id": "R1" }), config);
    const expected = { code: "throttled", retryable: true, requestId: "R1", scheme: "s3", bucket: "bucket", key: "a" };
    await assert.rejects(storage.read("a"), { ...expected, message: "s3://bucket/a: SlowDown: said so" });
    assert.equal(server.requests.length, 2);
  });

  it("a refusal is not retried", async () => {
    const { server, storage } = await against(failure(403, "AccessDenied"));
    await assert.rejects(storage.read("a"), { code: "permission" });
    assert.equal(server.requests.length, 1);
  });

  it("a broken connection is opened again", async () => {
    const { storage } = await against(firstly(2, (_request, response) => response.destroy()));
    assert.equal(await storage.readText("a"), "ok");
  });

  it("an answer of 200 that contains an error is an error", async () => {
    const copied: Answer = (_request, response) => response.end("<CopyObjectResult></CopyObjectResult>");
    const { server, storage } = await against((request, response, count) => {
      if (request.method === "HEAD") return ok(request, response, count);
      return firstly(2, failure(200, "InternalError"), copied)(request, response, count);
    });
    await storage.copy("a", "b");
    assert.deepEqual(
      server.requests.map(({ method }) => method),
      ["HEAD", "PUT", "PUT"],
    );
  });

  it("a body that breaks off is resumed at its offset, of the same object", async () => {
    const content = Buffer.alloc(300_000, "abcdefg");
    const { server, storage } = await against(({ headers }, response, count) => {
      const start = Number(/bytes=(\d+)-/.exec(headers.range ?? "")?.[1] ?? 0);
      const range = start > 0 ? { "content-range": `bytes ${start}-${content.length - 1}/${content.length}` } : {};
      response.writeHead(start > 0 ? 206 : 200, { etag: '"e"', "content-length": content.length - start, ...range });
      if (count < 3) response.write(content.subarray(start, start + 100_000), () => response.destroy());
      else response.end(content.subarray(start));
    });
    const read = Buffer.concat(await Array.fromAsync(storage.readStream("a")));
    assert.ok(content.equals(read));
    assert.deepEqual(
      server.requests.slice(1).map(({ headers }) => headers["if-match"]),
      ['"e"', '"e"'],
    );
  });

  it("expired credentials are requested again", async () => {
    let asked = 0;
    const token = () => {
      asked += 1;
      return { key: `k${asked}`, secret: "s", token: "t", expires_at: new Date(Date.now() + 3_600_000) };
    };
    const { server, storage } = await against(firstly(1, failure(400, "ExpiredToken")), { token });
    assert.equal(await storage.readText("a"), "ok");
    assert.match(server.requests[1]?.headers.authorization ?? "", /Credential=k2\//);
  });

  it("expired credentials are requested again, once, even if only the status reports them", async () => {
    const token = () => ({ key: "k", secret: "s", token: "t", expires_at: new Date(Date.now() + 3_600_000) });
    const { storage } = await against(firstly(1, failure(400, "ExpiredToken")), { token });
    assert.equal((await storage.stat("a")).size, 2);
    const { server, storage: refused } = await against(failure(400, "ExpiredToken"), { token });
    await assert.rejects(refused.stat("a"), { status: 400 });
    assert.equal(server.requests.length, 2);
  });

  it("a bucket in another region is followed there", async () => {
    const moved = failure(301, "PermanentRedirect", { "x-amz-bucket-region": "eu-central-1" });
    const { server, storage } = await against(firstly(1, moved));
    assert.equal(await storage.readText("a"), "ok");
    assert.match(server.requests[1]?.headers.authorization ?? "", /\/eu-central-1\/s3\//);
  });
});

describe("a copy of s3://", () => {
  const gibibyte = 1024 ** 3;
  const size = 5 * gibibyte + 1;

  /** Our own server, because copying five gigabytes takes too long on a real one in every run. */
  const copying =
    (fails: boolean): Answer =>
    (request, response) => {
      const { method, query } = request;
      if (method === "HEAD") response.writeHead(200, { etag: '"big"', "content-length": size }).end();
      else if (query.has("uploads")) response.end(documentOf(request, "<UploadId>U</UploadId>"));
      else if (method === "PUT" && fails && query.get("partNumber") === "3") {
        failure(403, "AccessDenied")({} as never, response, 0);
      } else if (method === "PUT") response.end(documentOf(request, `<ETag>"${query.get("partNumber")}"</ETag>`));
      else if (method === "POST") response.end(documentOf(request, '<ETag>"done-6"</ETag>'));
      else response.writeHead(204).end();
    };

  it("of an object over 5 GiB is made in parts, which have each byte once, of the same object", async () => {
    const { server, storage } = await against(copying(false));
    await storage.copy("a", "b");
    const parts = server.requests.filter(({ method, query }) => method === "PUT" && query.has("partNumber"));
    const ranges = parts.map(({ headers }) => headers["x-amz-copy-source-range"] as string);
    const bounds = ranges.flatMap((range) => range.match(/\d+/g)?.map(Number) ?? []).sort((a, b) => a - b);
    assert.equal(parts.length, 6);
    assert.deepEqual([bounds[0], bounds.at(-1)], [0, size - 1]);
    for (let index = 2; index < bounds.length; index += 2)
      assert.equal(bounds[index], (bounds[index - 1] as number) + 1);
    assert.deepEqual([...new Set(parts.map(({ headers }) => headers["x-amz-copy-source-if-match"]))], ['"big"']);
    const completion = server.requests.at(-1)?.body.toString() ?? "";
    assert.deepEqual(
      completion.match(/<ETag>[^<]+/g)?.map((text) => text.slice(-2, -1)),
      ["1", "2", "3", "4", "5", "6"],
    );
  });

  it("in parts that fails leaves no upload behind", async () => {
    const { server, storage } = await against(copying(true));
    await assert.rejects(storage.copy("a", "b"), { code: "permission" });
    const last = server.requests.at(-1);
    assert.deepEqual([last?.method, last?.query.get("uploadId")], ["DELETE", "U"]);
  });
});

it("a listing of versions continues after a page of delete markers", async () => {
  const mark = "<DeleteMarker><Key>a%2Fb</Key><VersionId>1</VersionId></DeleteMarker>";
  const next = "<NextKeyMarker>a%2Fb</NextKeyMarker><NextVersionIdMarker>1</NextVersionIdMarker>";
  const page = (content: string) =>
    `<ListVersionsResult><EncodingType>url</EncodingType>${content}</ListVersionsResult>`;
  const { storage } = await against(({ query }, response) => {
    if (query.get("key-marker") === null) response.end(page(`<IsTruncated>true</IsTruncated>${next}${mark}`));
    else response.end(page("<IsTruncated>false</IsTruncated><Version><Key>c</Key><VersionId>2</VersionId></Version>"));
  });
  const paths = (await Array.fromAsync(storage.list({ recursive: true, versions: true }))).map(({ path }) => path);
  assert.deepEqual(paths, ["c"]);
});

it("a body that breaks off, of a store that is then gone, is retried as often as any call", async () => {
  const { server, storage } = await against(
    (_request, response, count) => {
      if (count > 1) return response.destroy();
      response.writeHead(200, { etag: '"e"', "content-length": 1_000_000 }).write(Buffer.alloc(1000));
      setImmediate(() => response.destroy());
    },
    { ...keys, config_kwargs: { retries: { total_max_attempts: 3 } } },
  );
  await assert.rejects(Array.fromAsync(storage.readStream("a")), { code: "network" });
  assert.ok(server.requests.length <= 1 + 4, `${server.requests.length} requests`);
});

describe("a multipart upload to s3://", () => {
  it("that was completed at the second try is not a failure, even if the store refuses a stat", async () => {
    let completions = 0;
    const answer: Answer = ({ method, query }, response, count) => {
      if (method === "PUT") return response.writeHead(200, { etag: '"0123456789abcdef0123456789abcdef"' }).end();
      if (method === "HEAD") return response.writeHead(403).end();
      if (query.has("uploads"))
        return response.end("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
      completions += 1;
      if (completions === 1) return failure(503, "SlowDown")({ method, query } as never, response, count);
      return response.end("<CompleteMultipartUploadResult><ETag>e-2</ETag></CompleteMultipartUploadResult>");
    };
    const { storage } = await against(answer);
    assert.equal((await storage.write("a", Buffer.alloc(6_000_000), { partSize: 5_300_000 })).etag, "e-2");
    assert.equal(completions, 2);
  });

  it("whose completion had to be repeated succeeds if the object exists, not if the store says so", async () => {
    let [completions, looks] = [0, 0];
    const answer: Answer = ({ method, query }, response) => {
      if (method === "PUT") return response.writeHead(200, { etag: '"0123456789abcdef0123456789abcdef"' }).end();
      if (method === "POST" && query.has("uploads"))
        return response.end("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
      if (method === "POST") {
        completions += 1;
        return (
          completions > 1 &&
          response.end("<CompleteMultipartUploadResult><ETag>e-2</ETag></CompleteMultipartUploadResult>")
        );
      }
      looks += 1;
      if (looks === 1) return response.writeHead(404).end();
      return response.writeHead(200, { etag: looks === 2 ? '"of before"' : '"e-2"' }).end();
    };
    const { storage } = await against(answer, { ...keys, config_kwargs: { read_timeout: 0.3 } });
    assert.equal((await storage.write("a", Buffer.alloc(6_000_000), { partSize: 5_300_000 })).etag, "e-2");
    assert.deepEqual([completions, looks], [2, 3]);
  });

  it("with a broken part is aborted until the store no longer knows it", async () => {
    const stop = new AbortController();
    let aborts = 0;
    const answer: Answer = ({ method }, response) => {
      if (method === "POST")
        return response.end("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
      if (method === "PUT") return stop.abort(new Error("enough"));
      aborts += 1;
      // The part in transit has recreated it once.
      return response.writeHead(aborts < 3 ? 204 : 404).end();
    };
    const { storage } = await against(answer);
    const writing = storage.write("a", Buffer.alloc(6_000_000), { partSize: 5_300_000, signal: stop.signal });
    await assert.rejects(writing, /enough/);
    assert.equal(aborts, 3);
  });
});
