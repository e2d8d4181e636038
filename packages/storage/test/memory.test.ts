import { openStorage } from "@millrace/storage";
import { memoryScheme } from "../src/schemes/memory/scheme.ts";
import { conformance } from "./conformance.ts";

let opened = 0;

conformance("memory://", {
  capabilities: memoryScheme.capabilities,
  async open() {
    opened += 1;
    return openStorage(`memory://place-${opened}`);
  },
});
