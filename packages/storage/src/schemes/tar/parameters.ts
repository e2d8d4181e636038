/** Parameters of `tar://`. */
export { archiveParameters as parameters } from "../../archive/parameters.ts";
