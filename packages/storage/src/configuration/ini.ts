/** A minimal INI parser for the shared configuration files of AWS and fsspec: sections with names and values. */

export type IniSections = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Parses INI text. Names are returned in lower case. Indented lines, which continue a value, are skipped, because no
 * value of several lines is needed here.
 */
export function parseIni(text: string): IniSections {
  const sections: Record<string, Record<string, string>> = {};
  let section: Record<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const name = /^\[\s*(.+?)\s*\]/.exec(line)?.[1];
    if (name !== undefined) {
      section = sections[name] ?? {};
      sections[name] = section;
      continue;
    }
    const [, key, value] = /^([^\s#;=:][^=:]*?)\s*[=:]\s*(.*?)\s*$/.exec(line) ?? [];
    if (section && key !== undefined) section[key.toLowerCase()] = value ?? "";
  }
  return sections;
}
