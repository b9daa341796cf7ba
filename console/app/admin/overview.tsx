import { useContext } from 'preact/hooks';
import { Heading, Part } from '../components/text.tsx';
import { useServices } from '../gate.ts';
import { linkTo } from '../route.ts';
import { AdminSections, type Figure } from '../section.ts';
import { Changes } from './history.tsx';

/** What an admin may have to do, from the core and the features, and what has changed last. */
export function Overview() {
  const bare = useServices('admin').answer?.filter(({ credential, intents }) => credential === null && intents > 0).length;
  const figures: readonly Figure[] = [
    ...useContext(AdminSections).flatMap(({ useFigures }) => useFigures?.() ?? []),
    { title: 'Services without a credential', value: bare, to: linkTo(['services']) },
  ];
  return (
    <>
      <Heading title="Overview" />
      <ul class="cards">
        {figures.map(({ title, value, to, isUrgent }) => (
          <li key={title}>
            <h2>
              <a href={to}>{title}</a>
            </h2>
            <p class={isUrgent && value ? 'figure urgent' : 'figure'}>{value?.toLocaleString() ?? '–'}</p>
          </li>
        ))}
      </ul>
      <Part title="Newest changes">
        <Changes asked={{ page_size: '5' }} />
      </Part>
    </>
  );
}
