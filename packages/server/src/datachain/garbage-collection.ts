/** The library's own garbage collection of a warehouse, as a command. */
import { libraryName } from "./library.ts";
import { noAnalytics, type WarehouseFiles, warehouseVariables } from "./variables.ts";

export const collectGarbage = (python: string, files: WarehouseFiles, scratch: string) => ({
  words: [python, "-m", libraryName, "gc"],
  environment: { ...warehouseVariables(files, scratch), ...noAnalytics, PYTHONDONTWRITEBYTECODE: "1", HOME: scratch },
});
