/**
 * Builds the command that runs the datachain library's garbage collection on a warehouse, with its environment
 * variables.
 */
import { libraryName } from "./library.ts";
import { noAnalytics, type WarehouseFiles, warehouseVariables } from "./variables.ts";

export const collectGarbage = (python: string, files: WarehouseFiles, scratch: string) => ({
  words: [python, "-m", libraryName, "gc"],
  environment: { ...warehouseVariables(files, scratch), ...noAnalytics, PYTHONDONTWRITEBYTECODE: "1", HOME: scratch },
});
