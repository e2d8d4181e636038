/** The icon of the tab: the state of what the page shows. */
import { useEffect } from "react";
import { shapes, type Tone } from "./status.tsx";

/** Colours that are visible on light and dark tabs. */
const colours: Readonly<Record<Tone, string>> = {
  good: "#2f9e5c",
  bad: "#d9483b",
  run: "#3d86db",
  wait: "#8b94a3",
  off: "#8b94a3",
  warn: "#c98a00",
};

export function useFavicon(tone: Tone): void {
  useEffect(() => {
    const link = document.getElementById("favicon");
    const before = link?.getAttribute("href") ?? "data:,";
    const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="${shapes[tone]}" fill="none" stroke="${colours[tone]}" stroke-width="2.5" stroke-linecap="round"/></svg>`;
    link?.setAttribute("href", `data:image/svg+xml,${encodeURIComponent(picture)}`);
    return () => link?.setAttribute("href", before);
  }, [tone]);
}
