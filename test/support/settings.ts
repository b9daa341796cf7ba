import { expect } from '@jest/globals';
import { parseSettings, SettingsError } from '../../lib/settings.ts';

/** What is wrong with settings, a line each. */
export function mistakes(given: Record<string, unknown>, read = parseSettings): string[] {
  try {
    read(given);
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError);
    const [title, ...lines] = (error as SettingsError).message.split('\n');
    expect(title).toBe('The settings are not valid:');
    return lines.map((line) => line.trim());
  }
  return [];
}

/** Values of a setting, or of its first element, that are refused with the same message. */
export const refusing = (place: string, problem: string, ...values: string[][]): [Record<string, unknown>, string][] =>
  values.flat().map((value) => [{ [place.replace('.0', '')]: place.endsWith('.0') ? [value] : value }, `${place}: ${problem}`]);
