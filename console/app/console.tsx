import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Calls } from './calls.tsx';
import { Catalogue, useSearchKey } from './catalogue.tsx';
import { Icon } from './components/icon.tsx';
import { attention, Heading, upTo99, Way } from './components/text.tsx';
import { Toasts } from './components/toast.tsx';
import { Connect } from './connect.tsx';
import { Consent } from './consent.tsx';
import { adminFeatures, features } from './features.ts';
import { IntentView } from './intent.tsx';
import { PolicyView } from './policy.tsx';
import { ReferenceView } from './reference.tsx';
import { linkTo, type Route, useRoute } from './route.ts';
import type { Section, SectionLink } from './section.ts';
import { finishSignIn, session } from './session.ts';
import { Account, ForAdmins, SignInNotice } from './signed-in.tsx';
import { useStore } from './store.ts';

/** The sections for everybody, in the order of their links. */
const sections: readonly Section[] = [
  { path: '', title: 'Catalogue', View: Catalogue },
  { path: 'intents', View: Intent },
  { path: 'policy', title: 'Policy', View: PolicyView },
  { path: 'calls', title: 'Your calls', View: Calls },
  ...features,
  { path: 'connect', title: 'Connect', View: Connect },
  { path: 'reference', title: 'API reference', View: ReferenceView },
];

/** The sections for admins, whose views are in `admin/views.tsx`. */
const adminSections: readonly SectionLink[] = [
  { path: 'overview', title: 'Overview' },
  { path: 'services', title: 'Services' },
  { path: 'import' },
  ...adminFeatures,
  { path: 'executions', title: 'Executions' },
  { path: 'history', title: 'History' },
];

/** The frame of every view: a sidebar with navigation, or a bar with a menu on small screens. */
function Page() {
  const route = useRoute();
  useSearchKey();
  const isAdmin = useStore(session)?.isAdmin;
  const main = useRef<HTMLElement>(null);
  const [isOpen, setOpen] = useState(false);
  const current = route.path[0] ?? '';
  useEffect(() => setOpen(false), [current]);
  const waiting = new Map(adminSections.map(({ path, useWaiting }) => [path, useWaiting?.() ?? 0]));
  const count = waiting.values().reduce((sum, one) => sum + one, 0);
  useEffect(() => attention.set(count), [count]);
  const linksTo = (some: readonly SectionLink[]) =>
    some.map(
      ({ path, title }) =>
        title && (
          <a key={path} href={`#/${path}`} aria-current={path === current ? 'page' : undefined} onClick={() => setOpen(false)}>
            {title} <Count of={waiting.get(path) ?? 0} />
          </a>
        ),
    );
  return (
    <div class="app">
      <button type="button" class="skip" onClick={() => main.current?.querySelector<HTMLElement>('h1')?.focus()}>
        Skip to the content
      </button>
      <header class={isOpen ? 'sidebar open' : 'sidebar'}>
        <a class="name" href={linkTo([])}>
          <Icon name="gate" /> Intent Gate
        </a>
        <button type="button" class="menu plain" aria-expanded={isOpen} aria-controls="sections" onClick={() => setOpen(!isOpen)}>
          <Icon name="menu" /> Menu <Count of={count} />
        </button>
        <nav id="sections" aria-label="Sections">
          {linksTo(sections)}
          {isAdmin && (
            <>
              <p>Manage</p>
              {linksTo(adminSections)}
            </>
          )}
        </nav>
        <div class="account">
          <Account />
        </div>
      </header>
      <main ref={main}>
        <SignInNotice />
        <View {...route} />
      </main>
      <Toasts />
      <Consent />
    </div>
  );
}

const Count = ({ of }: { of: number }) => (of > 0 ? <span class="badge warn">{upTo99(of)}</span> : null);

function View({ path, query }: Route) {
  const [first = ''] = path;
  const section = sections.find((one) => one.path === first);
  if (section) return <section.View path={path} query={query} />;
  if (adminSections.some((one) => one.path === first)) return <ForAdmins path={path} query={query} />;
  return <NotFound />;
}

/** An intent, or the form that changes it. */
function Intent({ path, query }: Route) {
  const [, uid, form] = path;
  if (uid === undefined) return <NotFound />;
  return form === 'edit' ? <ForAdmins path={path} query={query} /> : <IntentView key={uid} uid={uid} query={query} />;
}

function NotFound() {
  return (
    <>
      <Heading title="Not found">Page not found</Heading>
      <Way to={linkTo([])} title="Go to the catalogue" />
    </>
  );
}

const root = document.getElementById('console');
if (root) {
  await finishSignIn();
  root.replaceChildren();
  render(<Page />, root);
}
