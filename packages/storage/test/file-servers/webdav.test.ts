import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openStorage } from "@millrace/storage";
import { whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import type { ServerProcess } from "@millrace/testing/servers/server-process.ts";
import { webdavScheme } from "../../src/schemes/webdav/scheme.ts";
import { conformance, pathsOf, rejectsWith } from "../conformance.ts";
import { davUser, startNginxDav, startWsgidav, whyNoNginxDav } from "../support/davd.ts";

const noPython = await whyNoPythonPackages();
const noNginx = await whyNoNginxDav();
let wsgidav: ServerProcess;
let nginx: ServerProcess;
before(async () => {
  if (!noPython) wsgidav = await startWsgidav();
  if (!noNginx) nginx = await startNginxDav();
});
after(async () => {
  await wsgidav?.stop();
  await nginx?.stop();
});

let places = 0;
const placeOn = ({ port }: ServerProcess) => {
  places += 1;
  return `webdav://127.0.0.1:${port}/place-${places}`;
};

conformance(
  "webdav:// on wsgidav",
  { capabilities: webdavScheme.capabilities, open: async () => openStorage(placeOn(wsgidav), davUser) },
  noPython,
);

conformance(
  "webdav:// on nginx",
  {
    // nginx ignores conditions on writes.
    capabilities: { ...webdavScheme.capabilities, writeConditions: false },
    open: async () => openStorage(placeOn(nginx)),
  },
  noNginx,
);

describe("webdav://", () => {
  it("refuses a condition that the server would ignore, and writes nothing", { skip: noNginx }, async () => {
    const storage = openStorage(placeOn(nginx));
    await storage.write("a", "1");
    await rejectsWith("unsupported", storage.write("a", "2", { ifNoneMatch: "*" }));
    await rejectsWith("unsupported", storage.write("b", "2", { ifMatch: "x" }));
    assert.deepEqual(await pathsOf(storage.list()), ["a"]);
    assert.equal(await storage.readText("a"), "1");
    await storage.close();
  });

  it("logs in with the URI's credentials, unless the configuration overrides them", { skip: noPython }, async () => {
    const { username, password } = davUser;
    const uri = `webdav://${username}:${encodeURIComponent(password)}@127.0.0.1:${wsgidav.port}/login`;
    await openStorage(uri).write("a", "1");
    assert.equal(await openStorage(uri).readText("a"), "1");
    await rejectsWith("permission", openStorage(uri, { password: "wrong" }).read("a"));
    await rejectsWith("permission", openStorage(`webdav://127.0.0.1:${wsgidav.port}/login`).read("a"));
  });

  it("never removes a folder that is named as a file", { skip: noPython }, async () => {
    const storage = openStorage(placeOn(wsgidav), davUser);
    await storage.write("folder/a", "1");
    await storage.remove("folder");
    await rejectsWith("not_found", storage.read("folder"));
    assert.deepEqual(await pathsOf(storage.list({ recursive: true })), ["folder/a"]);
  });
});
