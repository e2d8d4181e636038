/** A time as the library writes it in a team's warehouse, so that it sorts with the library's own. */
export const libraryTime = (time: string) => time.replace("T", " ").replace("Z", "000");
