/** A word of a POSIX shell, or of zsh, in which a word that begins with = is a program. */
export const quote = (text: string): string => (/^(?!=)[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** What a command is about, as its last word: one that begins with a dash is no option. */
export const operand = (text: string): string => `${text.startsWith('-') ? '-- ' : ''}${quote(text)}`;
