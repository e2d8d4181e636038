/**
 * The most frequent English words of four letters or more. Source: the package @zxcvbn-ts/language-en (MIT), which
 * takes them from OpenSubtitles through OPUS (ODC-BY 1.0).
 */
export const ordinaryWords: ReadonlySet<string> = new Set(
  `
able about above absolutely accept accident account across acting action actually adam address admit advice afford
afraid after afternoon again against agent agree agreed ahead alarm alex alice alive allow allowed almost alone along
already alright also although always amazing american among amount andy angry animal animals anna another answer
answers anybody anymore anyone anything anyway anywhere apart apartment apologize applause appreciate area aren arms
army around arrest arrested arrived arthur artist asked asking asleep assume attack attacked attention audience aunt
avoid aware away awesome awful babe back ball balls band bank barely base based basically bathroom battle beach bear
beat beautiful beauty became because become becomes bedroom been beer before began begin beginning behind being
believe believed bell belong belongs besides best better between beyond bigger biggest bike bill billy bird birds
birth birthday bite black blame blind block blood bloody blow blue board boat bobby bodies body bomb book books born
boss both bother bottle bottom bought boyfriend boys brain brave bread break breakfast breaking breath breathe
breathing brian bridge bright brilliant bring bringing brings british broke broken brother brothers brought bucks
buddy build building built bullet bunch buried burn burning business busy buying cake call called calling calls calm
came camera camp cancer cannot captain card cards care career careful carefully cares carry cars case cases cash catch
caught cause caused celebrate cell center certain certainly chair challenge chance change changed changes character
charge charles chatter check checked cheering cheers chest chicken chief child children chinese choice choose chose
chris chuckles church city class clean clear clearly client clock close closed closer clothes club coat code coffee
cold college colonel color come comes comfortable coming command commander committed common community competition
complete completely complicated concerned condition confused congratulations connection consider contact continue
continues contract control conversation cook cooking cool cops copy corner correct cost could couldn count country
couple course court cousin cover covered crash crazy cream create created credit crew crime criminal cross crowd
crying curious cute daddy damage dance dancing danger dangerous danny dare dark darling date dating daughter dave
david days dead deal dealing dear death decide decided decision deep definitely delicious deliver department deserve
desk destroy destroyed details detective devil didn died difference different difficult dinner direction director
dirty disappeared discovered discuss distance divorce doctor does doesn dogs doin doing dollars done door doors double
doubt down downstairs dramatic draw dream dreams dress dressed drink drinking drinks drive driver driving drop dropped
drug drugs dude dumb during duty dying each earlier early ears earth easier easily easy eating eddie eggs eight either
else emergency emily empty ended ends enemy energy engine english enjoy enough enter entire eric escape especially
even evening event ever every everybody everyone everything everywhere evidence evil exactly except excited exciting
excuse exist expect expected expecting expensive experience explain extra eyes face faces fact failed fair faith fake
fall falling familiar families famous fantastic farm fast faster fate father fault favor favorite fear feed feel
feeling feelings feels feet fell fellow felt female field fight fighting figure figured file fill filled film final
finally find finding finds fine finger fingers finish finished fire fired first fish five flat flight floor flowers
flying focus folks follow followed following food fool foot force forced foreign forget forgive forgot forgotten form
forward fought found four france frank fred free french fresh friend friends from front full funeral funny further
future game games gang gary gasps gate gave general genius gentleman gentlemen george german gets getting ghost gift
girl girlfriend girls give given gives giving glad glass goes goin going gold gone gonna good goodbye goodness gosh
gotta gotten government grab grace grand grandma grateful great greatest green grew groans ground group grow growing
grown grunting grunts guard guess guests guilty guns guys hadn hair half hall hand handle hands handsome hang hanging
happen happened happening happens happiness happy hard harder hardly harm harry hasn hate have haven having head
headed heading heads health hear heard hearing heart heat heaven heavy held help helped helping henry here hero
herself hidden hide hiding high higher highness himself hired history hold holding hole holy home honest honestly
honey honor hope hoping horrible horse horses hospital hotel hour hours house however huge human humans hundred hungry
hurry hurt hurts husband idea ideas idiot imagine immediately important impossible incredible indeed indistinct
information innocent insane inside inspector instead interest interested interesting interview into introduce
investigation invite invited involved island issue itself jack jail jake james jane japanese jason jealous jeff jerry
jimmy jobs john johnny join joke journey judge jump just justice kang kate keep keeping keeps kept kevin keys kick
kidding kids kind kinda king kiss kitchen knew knife knock know knowing known knows ladies lady land language large
larry last late lately later laugh laughing laughs laughter lawyer lead leader learn learned least leave leaves
leaving left legal legs less lesson letter letters letting level lied lies lieutenant life lift light lights like
liked likely likes line lines lisa list listen listening literally little live lived lives living local location lock
locked lonely long longer look looked looking looks loose lord lose losing loss lost lots loud love loved loves luck
lucky lucy lunch lying machine madam made magic main majesty major make makes making male mama manage many mark market
marriage married marry martin mary match mate matt matter matters maybe meal mean meaning means meant meat medical
medicine meet meeting member members memories memory mention mentioned mess message middle might mike miles military
milk million mind mine minister minute minutes miss missed missing mission mistake model moment mommy money monster
month months mood moon more morning most mother mountain mouth move moved moves movie movies moving much music must
myself name named names narrator natural nature near nearly necessary neck need needed needs neighborhood neither
nervous never news next nice nick night nights nine nobody noise none nonsense nope normal north nose note nothing
notice noticed nowhere number numbers nuts obvious obviously offer office officer official often okay older once ones
only onto open opened opening opens operation opinion opportunity order ordered orders original other others otherwise
ought ours ourselves outside outta over owner pack page paid pain paint painting pair panting pants papa paper papers
parents park part particular partner parts party passed past path patient paul paying peace people perfect perfectly
perhaps permission person personal personally pete peter phone photo photos pick picked picking picture pictures piece
pieces place places plan plane planet planned planning plans plant plate play played player playing plays please
pleasure plenty pocket point points police pool poor position possible possibly post power powerful powers practice
pray prefer pregnant prepare prepared present president press pressure pretend pretty price prince prison private
probably problem problems process professional professor program project promise promised proof proper property
protect proud prove public pull pulled purpose push putting queen question questions quick quickly quiet quit quite
race rachel radio rain raise raised rather reach reached read reading ready real reality realize realized really
reason reasons received recently recognize record records regret relationship relax release remain remember remind
rent report request research respect responsibility responsible rest restaurant results return returned revenge rich
richard ride ridiculous right rights ring ringing rings risk river road rock roger roll roof room rose rough round
ruin ruined rule rules running runs rush russian ryan safe safety said sake same santa sarah save saved saving saying
says scare scared scary scene school science scott screaming screams search season seat second seconds secrets
security seeing seem seemed seems seen sees sell selling send sending sense sent sergeant serious seriously serve
service settle seven several shall shame shape share ship shirt shoes shoot shooting shop short shot should shouldn
shouting show showed shower showing shows shut sick side sighs sight sign signal signed silly simon simple simply
since sing singing single sister site sitting situation size skin sleep sleeping slept slow slowly small smart smell
smile smoke social society soft sold soldier soldiers some somebody somehow someone something sometimes somewhere song
soon sooner sorry sort soul sound sounds south space spanish spare speak speaking special speech speed spend spent
spirit split spoke spot spread staff stage stand standing star stars start started starting starts state statement
states station stay stayed staying steal step steve stick still stole stolen stomach stone stop stopped stops store
stories storm story straight strange street streets strength strike strong stronger stuck student students study stuff
stupid style subject success such sudden suddenly sugar suggest suicide suit super support suppose supposed sure
surgery surprise surprised survive suspect swear sweet sweetie sword table take taken takes taking talk talked talking
tape target taste taught teach teacher team tears teeth tell telling tells tense terms terrible text than thank thanks
that their them themselves then theory there these they thing things think thinking thinks third this those though
thought thoughts thousand thousands threat three threw throat through throw ticket tight till time times tiny tired
today together told tommy tomorrow tongue tonight tony took total totally touch tough tour towards town track trade
train training trap travel treat tree trees trial trick tried trip trouble truck true truly trust truth trying turn
turned turning turns twice type ugly uncle under understand understood unit united universe unless until upon upset
upstairs used using usual usually very victim victims video view village visit voice vote wait waiting wake walk
walked walking wall walls walter wanna want wanted wants warm warning wash wasn waste watch watched watching water
ways weak weapon weapons wear wearing weather wedding week weekend weeks weight weird well went were weren west what
when where whether which while white whoa whoever whole whom whoo whose wife wild will willing wind window wine wish
with within without witness woman women wonder wonderful wondering woods word words work worked working works world
worried worry worse worst worth would wouldn wound write writing written wrong wrote yeah year years yelling yesterday
york young younger your yours yourself yourselves
`
    .trim()
    .split(/\s+/),
);
