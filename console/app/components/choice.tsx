interface ChoiceProps {
  label: string;
  /** text of the first entry, which means no choice */
  none: string;
  /** values, or pairs of values and texts */
  options: readonly (string | readonly [value: string, text: string])[];
  value: string;
  onChoose(value: string): void;
}

/** A drop-down in a toolbar. */
export const Choice = ({ label, none, options, value, onChoose }: ChoiceProps) => (
  <select aria-label={label} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
    <option value="">{none}</option>
    {options.map((option) => {
      const [given, text] = typeof option === 'string' ? [option, option] : option;
      return (
        <option key={given} value={given}>
          {text}
        </option>
      );
    })}
  </select>
);
