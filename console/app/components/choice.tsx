interface ChoiceProps {
  label: string;
  /** what the first entry says, which stands for no choice */
  none: string;
  /** values, or values with their texts */
  options: readonly (string | readonly [value: string, text: string])[];
  value: string;
  onChoose(value: string): void;
}

/** A list in a toolbar. */
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
