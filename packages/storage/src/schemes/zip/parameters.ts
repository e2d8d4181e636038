/** What `zip://` takes. */
export { archiveParameters as parameters } from "../../archive/parameters.ts";
