"""Word lists, as parts of patterns, for sentences in which people speak about themselves."""

from recollect.text.data_files import alternation

ADVERB = alternation("""
    really, also, just, still, actually, absolutely, definitely, totally, truly, personally, mostly, generally,
    particularly, especially, always, usually, often, do, both, even, recently, finally, currently, already, now,
    strongly, honestly, all, normally, typically, sometimes, mainly, only, simply, again, officially, probably,
    perhaps, maybe
""")

RELATION = alternation("""
    wife, husband, partner, spouse, fianc[eé]e?, girlfriend, boyfriend, son, daughter, kids?, child, children, twins?,
    baby, brother, sister, siblings?, mother, mom, mum, father, dad, parents?, grandm(?:a|other), grandp(?:a|father),
    grandparents?, nephews?, nieces?, cousins?, step(?:son|daughter|mom|dad), pet, dog, cat, puppy, pup, kitten,
    horse, turtles?, parrot, rabbit, guinea pig, hamster
""")

POSSESSION = alternation(f"""
    {RELATION}s?, puppies, kitty, kitties, fish, chickens, hens, house, flat, apartment, cottage, farm, garden, car,
    motorbike, motorcycle, bike, boat, van, degree, diploma, phd, master's, bachelor's, allergy, allergies, asthma,
    diabetes, epilepsy, adhd, autism, dyslexia, migraines, arthritis, anxiety, depression, insomnia, condition,
    disability, collection, tattoos?, blog, podcast, channel, studio, shop, store, company, business, library
""")

OCCUPATION = alternation("""
    nurse, doctor, surgeon, dentist, vet, veterinarian, pharmacist, therapist, counsell?or, psychologist,
    psychiatrist, physiotherapist, midwife, paramedic, teacher, professor, lecturer, tutor, coach, trainer,
    instructor, librarian, student, researcher, scientist, physicist, chemist, biologist, mathematician, historian,
    engineer, developer, programmer, designer, architect, analyst, administrator, consultant, technician, mechanic,
    electrician, plumber, carpenter, builder, lawyer, attorney, judge, paralegal, accountant, banker, broker, trader,
    economist, auditor, manager, director, founder, co-founder, ceo, cto, entrepreneur, owner, freelancer, contractor,
    writer, author, screenwriter, poet, journalist, editor, translator, interpreter, photographer, filmmaker, artist,
    painter, sculptor, musician, singer, guitarist, pianist, drummer, dj, dancer, choreographer, actor, actress,
    comedian, gamer, streamer, chef, cook, baker, barista, bartender, waiter, waitress, farmer, gardener, florist,
    driver, pilot, sailor, firefighter, policeman, officer, soldier, veteran, marine, clerk, cashier, receptionist,
    secretary, assistant, salesperson, realtor, recruiter, volunteer, mentor, social worker, politician, priest,
    pastor, athlete, runner, cyclist, swimmer, climber, hiker, surfer, player, footballer, mom, mum, mother, dad,
    father, parent, grandmother, grandfather, widow, widower, twin, vegan, vegetarian, pescatarian, christian,
    catholic, muslim, jew, buddhist, hindu, atheist, immigrant, refugee, citizen, native speaker, introvert,
    extrovert, night owl, early bird, morning person, (?:dog|cat|people|animal|beach|book) (?:person|lover), bookworm,
    beginner, minimalist, perfectionist, only child, woman, man, trans(?:gender)? (?:woman|man|person)
""")

PERSONAL_STATE = alternation("""
    married, divorced, widowed, engaged, single, pregnant, retired, self-employed, unemployed, vegan, vegetarian,
    pescatarian, c(?:o)?eliac, gluten[- ]free, lactose[- ]intolerant, diabetic, asthmatic, epileptic, left-handed,
    colou?r-?blind, deaf, blind, dyslexic, autistic, bilingual, trilingual, transgender, trans, gay, lesbian,
    bisexual, queer, non-?binary, jewish, muslim, catholic, christian
""")

FAVORITE = alternation("""
    favou?rites?, fav(?:e|es|s)?, go-to, top pick, first love, true love,
    (?:(?:biggest|greatest|true|real|main|lifelong| other|huge) )*(?:passions?|hobby|hobbies|escape|outlets?|stress[-
    ](?:relief|buster|reliever)|comfort food| happy place|guilty pleasure|jam|thing)
""")

LIKING_VERB = alternation("""
    love, like, enjoy, prefer, adore, hate, dislike, detest, loathe, avoid, cherish, can(?:'|no)t stand, (?:don't|do
    not) (?:really )?(?:like|enjoy|care for), have a (?:soft spot|thing|passion|love) for
""")

INTEREST_PHRASE = alternation("""
    more into, (?:an? )?(?:(?:big|huge|massive|great|avid|real) )?fan of, fond of, (?:big )?into, keen on, passionate
    about, crazy about, mad about, obsessed with, addicted to, all about, a sucker for, drawn to, interested in,
    fascinated by, inspired by
""")

LONG_INTEREST_PHRASE = alternation("""
    (?:been )?(?:into|passionate about|obsessed with|fascinated by|interested in|a (?:big |huge )?fan of), loved,
    liked, enjoyed, hated, wanted to, dreamed of, felt an? (?:strong |deep )?connection to, had a (?:passion|love|soft
    spot|thing) for
""")

WEEKDAY = alternation("mon, tues, wednes, thurs, fri, satur, sun") + "day"

SEASON = alternation("summer, winter, spring, autumn, fall, christmas")

MONTH = alternation("""
    january, february, march, april, may, june, july, august, september, october, november, december
""")

HABIT_VERB = alternation("""
    go, eat, drink, wear, use, order, take, play, cook, bake, read, run, walk, work, write, watch, listen, start,
    wake, get up, sleep, train, practi[cs]e, visit, look forward to, buy, bring, carry, travel, drive, cycle,
    meditate, spend, celebrate, make, have (?:breakfast|lunch|dinner|coffee|tea), meet, volunteer, attend, hike, camp,
    exercise, work out, shop, book, fly, sit(?: in)?
""")

ACTIVITY_VERB = alternation("""
    play, coach, collect, mentor, run, own, practi[cs]e, sing, paint, draw, bake, knit, sew, garden, breed, belong to,
    attend, train, write, compete in, support, teach, lead, manage, host, commute, drive, use, keep, wear, follow,
    listen to, watch, read, grow, sell, offer, cook, ride, work out, meditate, dream of, believe in, rely on, meet
    with, serve (?:as|in|on), stay \\w+ by, feel (?:an? (?:\\w+ )?urge|drawn|called) to, go
    (?:hiking|running|swimming|camping|fishing|dancing|to (?:church|the gym|yoga|therapy))
""")

WISH_VERB = alternation("""
    be (?:an?|known as), become, use my, open, build, start, run, own, study, learn, publish, write, move, travel,
    visit, work, create, get into, get (?:an?|my|stronger|fit|fitter|better at|healthier), have (?:a|kids|children),
    adopt, buy, help (?:people|others|kids|children), raise, retire, go to, make a
""")

_FUTURE_VERB = alternation("""
    start, open, continue, apply, submit, study, visit, move, quit, join, teach, launch, adopt, travel, buy, sell, go
    to
""")

ONGOING_ACTIVITY = alternation(f"""
    learning(?: how to)?, prepping for, having trouble with, carrying on, mentoring, coaching, teaming up with,
    collaborating with, in talks with, getting better at, off to(?= (?-i:[A-Z])), training for, taking, writing,
    working (?:on|towards), saving (?:up )?for, building, planning(?: (?:to|on))?, organi[sz]ing, renovating,
    preparing for, looking for, searching for, looking into, applying (?:to|for), volunteering, running, starting,
    opening, creating, launching, expanding, hosting, offering, reading, teaching, developing, putting together,
    getting ready for, turning, on the hunt for, having an?, considering(?= \\w+ing\\b), thinking (?:of|about)(?=
    \\w+ing\\b), aiming to, hoping to, going through, dealing with, recovering from, involved in, focused on, focusing
    on, committed to, dedicated to, responsible for, in charge of, designing, making (?:my|an?), editing, composing,
    setting up, restoring, growing, raising, participating in, competing in, heading to, moving to, travell?ing to,
    visiting, filming, shooting, recording, wrapping up, living my dream, trying out, enjoying(?= (?:my|\\w+ing)\\b),
    doing(?= (?:\\w+ing|yoga|pilates|karate|judo|an?|my)\\b), going to(?= (?:an?|the|my)\\b), (?:gonna|going to)(?=
    {_FUTURE_VERB}\\b)
""")

RECENT_ACTIVITY = alternation("""
    looking into, learning, studying, working (?:\\w+ )?(?:on|at|as|with), writing, reading, practi[cs]ing, training,
    playing, teaching, volunteering, running, trying out, taking, saving, building, painting, making, planning,
    developing, researching, exploring, hosting, collecting, attending, networking, rehearsing, dealing with,
    struggling with, coaching, mentoring, searching for, looking for, focusing on, blogging about, involved in,
    enjoying, dating, living, collaborating with, using
""")

LIFE_EVENT = alternation("""
    graduated, retired, became, become, gave birth, had (?:a baby|surgery|my first|our first), (?:was|been)
    (?:drafted|promoted|hired|fired|laid off|accepted|elected|diagnosed|injured|robbed|awarded|invited), got
    (?:hurt|injured|sick|married|engaged|divorced|promoted|hired|fired|laid off|accepted|into|pregnant|my), got a
    (?:(?:new|temp|part-time|full-time) )?(?:job|promotion|internship|raise|scholarship|degree|tattoo|dog|cat|car)
""")

PAST_EVENT = alternation("""
    joined, stopped(?= \\w+ing\\b), adopted, bought, lost, quit, left, founded, launched, opened, closed, shut down,
    published, finished, completed, won, passed, failed, signed (?:up|with|for|an?), enrolled (?:in|at|on), applied
    (?:to|for), started, began, submitted, received, earned, sold, released, recorded, switched (?:to|from), gave up,
    took up, hired, broke (?:my|the|a), injured, hurt my, created, built, developed, acquired, upgraded, organi[sz]ed,
    inherited an?, ran (?:an?|my|in|into|the(?= (?:\\w+ )?(?:half[- ])?(?:marathon|race))), bumped into, performed
    (?:in|at), competed in, participated in, volunteered (?:at|for|with|in), attended, hosted, visited, travell?ed to,
    flew to, celebrated, wrote,
    (?:painted|drew|designed|composed) an?, helped, scored, beat, secured, landed, booked, registered for, auditioned
    for, presented, fundraised, donated, raised, planted, set up, contacted, teamed up with, partnered with, struggled
    with, cancelled, wrapped up, learned (?:how )?to, came out as, made it to, held an?, spoke at, gave a
    (?:talk|speech), gave (?:a few|some|several) (?:talks|speeches|lessons), tried(?: my hand at|(?= \\w+ing\\b)), did
    (?:a|my), been to, met (?:my|an?|some|with|(?-i:[A-Z])), found (?:an?|some|my), (?:watched|read)(?=
    (?:"|(?-i:[A-Z]))), took my \\w+ to, took (?:a|my|the) (?:\\w+
    )?(?:trip|course|class|kids|family|fam|dog|job|exam|test|workshop), spent (?:(?:some|a lot of|the|my|a)
    )?(?:time|day|weekend|week|afternoon|evening|morning|summer|night|year|month)s? (?:\\w+ing|at|with|in|on), went
    (?:to|on|back to), (?:went|gone|been) (?:camping|hiking|fishing|skiing|kayaking|swimming|surfing|biking|
    climbing|sailing|diving|backpacking|snorkell?ing), got (?:to(?=
    (?:teach|meet|perform|play|speak|visit)\\b)|noticed by|offered), got a
    (?:new|rejection|letter|call|offer|gig|deal|part|role|mentor), got an (?:offer|award|interview|grant|endorsement),
    had an? (?:\\w+ and )?(?:\\w+ )?(?:interview|accident|injury|setback|car
    accident|audition|performance|gig|fight|operation|meeting|concert|
    date|game|match|class|party|dinner|picnic|reunion|check-up|exam|gathering|wedding|photo
    ?shoot|barbecue|bbq|workshop), had to (?:shut|close|cancel|sell|leave|quit|give up|move|take a break)
""")
