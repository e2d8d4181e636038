/** Runs the blob conformance suite on a folder and on an S3 server. */
import { openBlobs } from "../../src/blobs/open-blobs.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { startS3Blobs, whyNoVersitygw } from "../support/s3-blobs.ts";
import { type BlobsFixture, describeBlobs, temporaryFolder } from "./blobs-conformance.ts";

async function fixtureOf(settings: Record<string, string>, stop = async () => {}): Promise<BlobsFixture> {
  const folder = await temporaryFolder("blobs");
  const again = () => openBlobs(new DataFolder(folder.path).blobs(readConfig({}, settings)));
  const blobs = await again();
  return {
    blobs,
    again,
    async stop() {
      await blobs.close();
      await stop();
      await folder.remove();
    },
  };
}

describeBlobs("a folder", () => fixtureOf({}));

describeBlobs(
  "a bucket of an S3 server",
  async () => {
    const { settings, stop } = await startS3Blobs();
    return fixtureOf(settings, stop);
  },
  await whyNoVersitygw(),
);
