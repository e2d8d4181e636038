/** The theme: light, dark, or as the system says. The choice is kept in this browser. */
import { useState } from "react";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

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
      applyTheme(chosen);
      setTheme(chosen);
    },
  ];
}
