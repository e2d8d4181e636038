/** Parameters of `zip://`. */
export { archiveParameters as parameters } from "../../archive/parameters.ts";
