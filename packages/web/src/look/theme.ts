/**
 * The theme: light, dark, or as the system says. The choice is kept in this browser, and in a cookie for the pages that
 * the server renders.
 */
import { useState } from "react";
import { serverPath } from "../api/base.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const themeTitles: Readonly<Record<Theme, string>> = {
  system: "As the system",
  light: "Light",
  dark: "Dark",
};

const place = "millrace.theme";

const kept = (): Theme => {
  const value = localStorage.getItem(place);
  return themes.find((theme) => theme === value) ?? "system";
};

export function applyTheme(theme: Theme = kept()): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(kept);
  return [
    theme,
    (chosen) => {
      localStorage.setItem(place, chosen);
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs HTTPS
      document.cookie = `millrace_theme=${chosen}; Path=${serverPath("/")}; Max-Age=31536000; SameSite=Lax`;
      applyTheme(chosen);
      setTheme(chosen);
    },
  ];
}
