/** Decodes names in ZIP archives: UTF-8 or code page 437. */

/** The characters of code page 437 from 128 to 255. */
const letters =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
  "└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes a name. Many tools write UTF-8 without setting the UTF-8 flag, so every name that is valid UTF-8 is decoded
 * as UTF-8.
 */
export function decodeName(bytes: Buffer, isUtf8: boolean): string {
  if (isUtf8) return bytes.toString();
  try {
    return utf8.decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : letters[byte - 128])).join("");
  }
}
