import { after, before } from "node:test";
import { openStorage } from "@millrace/storage";
import { whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { ftpScheme } from "../../src/schemes/ftp/scheme.ts";
import { conformance } from "../conformance.ts";
import { type FtpServer, ftpUser, startPyftpdlib, startVsftpd, whyNoVsftpd } from "../support/ftpd.ts";

const noPython = await whyNoPythonPackages();
const noVsftpd = await whyNoVsftpd();
let pyftpdlib: FtpServer;
let vsftpd: FtpServer;
before(async () => {
  if (!noPython) pyftpdlib = await startPyftpdlib();
  if (!noVsftpd) vsftpd = await startVsftpd();
});
after(async () => {
  await pyftpdlib?.stop();
  await vsftpd?.stop();
});

let places = 0;
const placeOn = ({ port, root }: FtpServer) => {
  places += 1;
  return `ftp://127.0.0.1:${port}${root}/place-${places}`;
};

conformance(
  "ftp:// with MLSD",
  {
    capabilities: ftpScheme.capabilities,
    // An FTP command is one line.
    refusedKeys: ["a key with a newline"],
    open: async () => openStorage(placeOn(pyftpdlib), ftpUser),
  },
  noPython,
);

conformance(
  "ftp:// with LIST only",
  {
    capabilities: ftpScheme.capabilities,
    refusedKeys: ["a key with a newline"],
    open: async () => openStorage(placeOn(vsftpd)),
  },
  noVsftpd,
);
