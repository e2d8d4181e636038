/** Whether the page is as narrow as on a phone. */
import { useSyncExternalStore } from "react";

const narrow = window.matchMedia("(max-width: 700px)");

const listen = (onChange: () => void) => {
  narrow.addEventListener("change", onChange);
  return () => narrow.removeEventListener("change", onChange);
};

export const useNarrow = (): boolean => useSyncExternalStore(listen, () => narrow.matches);
