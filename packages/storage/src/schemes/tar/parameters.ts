/** What `tar://` takes. */
export { archiveParameters as parameters } from "../../archive/parameters.ts";
